"""What waits for people: approvals and what follows from them, grants, models' votes, tools known by definition."""
