"""Words, rank and remarks of memories: pure."""
