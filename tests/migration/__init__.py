"""Schemas of earlier releases brought up to date; no behaviour of the store."""
