"""The coordinator over both databases."""
