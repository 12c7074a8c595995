"""Peers that the benchmarks are compared with: a folder each, with what it needs and one script; nothing of ours."""
