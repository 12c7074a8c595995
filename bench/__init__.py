"""Benchmarks, run by `python -m bench`; figures with their conditions, no pass or fail of behaviour."""
