"""The HTTP interface, a surface over the desk; no rules of its own."""
