"""Cedar as a peer of policy decisions, in an environment of its own."""
