"""The operations behind every surface, each called on behalf of an authenticated person; no parsing or rendering."""
