"""Runs of agents, worked by the real runner over a real store with a scripted model."""
