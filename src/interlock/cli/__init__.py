"""The command line, thin and lazy; no rules of its own and no heavy import at start."""
