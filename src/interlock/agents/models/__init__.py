"""Which model a run uses, calling it, its failures, and the money for its calls."""
