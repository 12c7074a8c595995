"""Ids, clock, errors and values that every layer may use; no I/O and no knowledge of the product's layers."""
