"""Checks and chores for those who work on the repository; nothing here is shipped."""
