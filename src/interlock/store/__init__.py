"""The database and the doors over it, the only place that knows SQL; no models, tools or surfaces."""
