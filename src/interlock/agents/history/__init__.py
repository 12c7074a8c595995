"""The history of conversations: rows and messages, windows, repairs, compaction, sessions as files."""
