"""Tests of `interlock.integrations`."""
