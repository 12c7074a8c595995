"""One of several processes leads, and fires each job once, over both databases."""
