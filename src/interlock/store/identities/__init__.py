"""People and those who act for them; what is kept about a person, and its erasure."""
