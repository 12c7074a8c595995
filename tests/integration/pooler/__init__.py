"""Through a real transaction pooler."""
