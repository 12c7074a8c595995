"""Benchmarks, run by `python -m bench`; they report figures with their conditions, and do not test behaviour."""
