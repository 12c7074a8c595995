"""The coordinator, which turns a goal into tasks and a deliverable; the only user of LangGraph; no model calls."""
