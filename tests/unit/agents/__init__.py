"""Personas, prompts and messages."""
