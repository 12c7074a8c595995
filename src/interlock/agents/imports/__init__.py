"""Importing agents of other programs as personas that may do less, never more; nothing of theirs is executed."""
