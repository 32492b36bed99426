"""Tables of sessions: servers and their leases, the session of each node, and numbered streams."""
