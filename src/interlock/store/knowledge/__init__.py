"""What agents know: memories, blocks, lessons, and the facts that lessons cite."""
