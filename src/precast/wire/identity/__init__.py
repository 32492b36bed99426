"""Messages about identity: bodies of the API, node names, and the form of tokens."""
