"""Parts together at real edges: servers, processes, databases; no whole journeys."""
