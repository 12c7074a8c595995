"""Money: the ledger and what is read from it, limits, estimates."""
