"""The command line, thin and lazy: it parses, calls the desk and renders; importing it loads no framework."""
