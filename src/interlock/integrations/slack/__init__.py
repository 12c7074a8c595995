"""Slack: converts verified requests to commands, and cards to blocks."""
