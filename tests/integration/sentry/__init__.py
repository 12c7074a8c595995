"""Telemetry with Sentry's own library against a server on this machine."""
