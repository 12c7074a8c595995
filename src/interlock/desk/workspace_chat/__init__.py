"""The workspace chat for people: channels, members, messages."""
