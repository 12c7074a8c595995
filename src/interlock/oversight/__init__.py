"""Supervision of the agents: Learner, heartbeats, loop detection, checks, retention, audit seals; no user interface."""
