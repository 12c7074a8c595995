"""What people see and do in a real browser, over both databases."""
