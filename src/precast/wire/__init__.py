"""The messages between machines: bodies of the API, messages of sessions, names, tokens. No sockets, no clock."""
