"""Tests of `interlock.state_machine`."""
