"""The loop of a run: opening, calls, transactions, questions, interruptions, handing over."""
