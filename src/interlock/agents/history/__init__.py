"""What was said before: rows and messages, windows, repairs, compaction, sessions as files."""
