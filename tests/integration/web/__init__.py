"""The HTTP door over a real socket."""
