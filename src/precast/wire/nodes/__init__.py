"""Messages about nodes: bodies of the API, presence, server status, and signed policies."""
