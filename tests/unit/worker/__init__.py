"""Of the worker, what needs no database."""
