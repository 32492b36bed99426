"""Builds the services of secrets, of their keys and of their sources."""
