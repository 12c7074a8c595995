"""The process that claims runs and dispatches them by kind; no rules about what may run."""
