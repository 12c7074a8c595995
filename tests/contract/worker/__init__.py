"""Workers: what they take, let go of, and leave behind."""
