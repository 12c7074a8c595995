"""Slack against a local server that speaks its protocols."""
