"""The HTTP interface over a real socket, on each database."""
