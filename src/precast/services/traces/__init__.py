"""Trace trees: which catalog follows from which answers, and which of those answers a node gives."""
