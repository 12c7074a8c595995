"""The language between agents and models, its prices and rules, and the offline model."""
