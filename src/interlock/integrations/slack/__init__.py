"""Slack: verified requests become commands, cards become blocks; no command is carried out here."""
