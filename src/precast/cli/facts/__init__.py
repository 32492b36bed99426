"""`precast facts`: collects and shows this machine's facts, or shows those that a server has stored for a node."""
