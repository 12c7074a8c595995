"""What one process does for all: leases of duties, schedules, and their firings."""
