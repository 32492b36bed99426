"""What travels between machines: bodies of the API, names, tokens. No sockets, no clock."""
