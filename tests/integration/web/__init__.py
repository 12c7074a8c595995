"""The HTTP door over a real socket, and in processes of its own."""
