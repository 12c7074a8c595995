"""Money for people: accounts, budgets, prices, estimates, the ledger's lines."""
