"""Missions and their tasks: states, deliverables, checks, loops, and what the coordinator keeps."""
