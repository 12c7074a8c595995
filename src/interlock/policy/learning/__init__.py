"""Which lessons are kept and shown: fitness, scoring, similarity."""
