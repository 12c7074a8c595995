"""Provider-neutral messages, and the models that answer them; no tools, prompts or storage of conversations."""
