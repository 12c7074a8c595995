"""The record of runs: steps, messages and calls, what a run is shown, sessions, subagents."""
