"""The systems that the benchmarks compare with: a directory each, with requirements and a script; no code of ours."""
