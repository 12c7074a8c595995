"""The workspace chat, over both databases."""
