"""The oversight layer, without a database."""
