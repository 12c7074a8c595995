"""The life of a task as data and a pure machine over it; no storage and no knowledge of who calls."""
