"""What every chat has in common: requests, commands, cards, replies, attachments, routing."""
