"""What the desk says of what it is asked about."""
