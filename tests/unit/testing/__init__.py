"""Tests of `interlock.testing`."""
