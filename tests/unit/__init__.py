"""Pure tests that mirror the source; no database, no process, no socket."""
