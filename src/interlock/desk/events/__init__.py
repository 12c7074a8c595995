"""Events for readers and waiters: the feed, transient events, the ends of runs."""
