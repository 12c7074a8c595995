"""Sentry: how runs, steps, tool calls and decisions look from afar; nothing of what is said or done in them."""
