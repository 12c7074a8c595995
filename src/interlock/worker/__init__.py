"""The process that claims runs and dispatches them by kind; it has no rules about what may run."""
