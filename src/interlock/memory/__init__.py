"""What an agent remembers between runs: blocks, archive, chats, lessons; no model calls."""
