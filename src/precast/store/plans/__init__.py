"""Stored state of plans that jobs do not have: the content of their tasks."""
