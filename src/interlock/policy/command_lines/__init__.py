"""What a shell script, a command line or a list of words would do: parsed, and judged program by program."""
