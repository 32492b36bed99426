"""The one run engine: a net over nodes, persisted steps, leases with fencing, limits, stop, resume."""
