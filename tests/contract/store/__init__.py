"""The store through its doors, each case over SQLite and PostgreSQL."""
