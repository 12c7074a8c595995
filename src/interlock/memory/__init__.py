"""What an agent remembers between runs: blocks, archive, documents, lessons; no model calls of its own."""
