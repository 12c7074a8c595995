"""The coordinator that turns a goal into tasks and a deliverable, and the only user of LangGraph; no model calls."""
