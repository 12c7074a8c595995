"""Telegram: updates become commands, cards become messages; no command is carried out here."""
