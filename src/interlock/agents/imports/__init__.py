"""Agents described for other programs, made into personas that may do less, never more; nothing of theirs is run."""
