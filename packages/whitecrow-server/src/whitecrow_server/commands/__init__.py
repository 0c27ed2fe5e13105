"""What this package adds to the terminal: ``serve``, ``people`` and ``mcp``."""
