"""One file for each promise of the README, driven from outside; no internals."""
