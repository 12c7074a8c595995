"""The same cases over every implementation of one contract; nothing about a single one."""
