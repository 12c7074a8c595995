"""Plans, triggers and delegation."""
