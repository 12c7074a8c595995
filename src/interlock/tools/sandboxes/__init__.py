"""The sandbox that commands and code run in."""
