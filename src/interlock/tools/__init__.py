"""The registry of tools and the one way to execute a call; no decisions about what an agent does next."""
