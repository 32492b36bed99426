"""Commits that the server verifies itself, after a process that it does not trust has fetched them."""
