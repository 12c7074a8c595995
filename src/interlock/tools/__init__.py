"""The tool registry and the execution of tool calls; what an agent does next is decided elsewhere."""
