"""Messages: the inbox and the outbox of chats, the feed, mail between agents, the workspace chat."""
