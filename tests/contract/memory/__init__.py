"""Memories and blocks on both databases."""
