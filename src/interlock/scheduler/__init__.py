"""Leader election and timed jobs; the work itself is done elsewhere."""
