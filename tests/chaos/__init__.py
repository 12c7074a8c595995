"""Processes killed and resources taken away at any moment; no happy paths."""
