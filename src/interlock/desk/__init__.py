"""The operations behind every surface, each called by an authenticated person; no parsing and no rendering."""
