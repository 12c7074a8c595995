"""The database as the truth: tables, the engine, and one module for each thing kept in it."""
