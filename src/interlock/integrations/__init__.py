"""Adapters to chat, e-mail and other services, each a thin surface over the desk."""
