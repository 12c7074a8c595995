"""Agents for people: personas, conversations, sessions, memories, lessons."""
