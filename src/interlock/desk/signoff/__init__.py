"""Signing off: the card of a question, answers, edited calls, grants, the checks of a deliverable."""
