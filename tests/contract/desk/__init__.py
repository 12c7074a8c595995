"""The operations behind every surface, over both databases."""
