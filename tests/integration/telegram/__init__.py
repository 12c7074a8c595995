"""Telegram over a local server that speaks the Bot API."""
