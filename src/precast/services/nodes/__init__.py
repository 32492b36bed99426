"""Nodes: their state, classification and policies, and the status of the whole site."""
