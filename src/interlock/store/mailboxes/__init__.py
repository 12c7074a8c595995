"""Where runs wait and who executes them: posting, claiming, leases, dead letters, pauses and quarantines."""
