"""Personas, prompts and the loop that runs an agent; no coordination between agents."""
