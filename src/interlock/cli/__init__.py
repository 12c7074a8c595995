"""The command line, a thin layer: it parses, calls the desk and renders; importing it loads no framework."""
