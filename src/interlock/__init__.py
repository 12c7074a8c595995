"""Interlock: the control room for autonomous agents."""
