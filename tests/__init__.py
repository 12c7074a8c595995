"""The tests, fast folders first; nothing here is shipped."""
