"""What the name, description and schema of a tool say that it does: it acts, it reads, or it says nothing."""
