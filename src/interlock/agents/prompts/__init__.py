"""What a model is told at the start: the system prompt, its layers and sources, and the first message."""
