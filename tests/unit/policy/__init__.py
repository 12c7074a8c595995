"""Tests of `interlock.policy`."""
