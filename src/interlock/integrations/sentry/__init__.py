"""Sentry telemetry of runs, steps, tool calls and decisions, without their content."""
