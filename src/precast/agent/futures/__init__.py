"""Futures on the node: which values its resources get, what it promises to other nodes, and what it waits for."""
