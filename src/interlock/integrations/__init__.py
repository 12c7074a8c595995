"""Adapters to chat, mail and other services, each a thin surface over the desk; no rules of their own."""
