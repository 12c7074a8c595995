"""Telegram: converts updates to commands, and cards to messages."""
