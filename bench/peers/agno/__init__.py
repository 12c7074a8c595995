"""One peer: what it needs, and its script; see `bench.peers`."""
