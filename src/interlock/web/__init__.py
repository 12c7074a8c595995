"""The HTTP interface and the page, a surface over the desk; no rules of its own."""
