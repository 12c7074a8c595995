"""What SQL statements and queries of other databases would do."""
