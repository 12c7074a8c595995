"""Missions and tasks: starting, adding to, changing and cancelling them."""
