"""How the database is reached: SQLite and PostgreSQL, compiled statements, the writer, wake-ups."""
