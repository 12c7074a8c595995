"""The outbox on its way out, over both databases: order, retries, edits, crashes, letters."""
