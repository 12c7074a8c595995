"""The command line's own words and shapes."""
