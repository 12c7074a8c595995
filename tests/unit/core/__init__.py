"""Tests of `interlock.core`."""
