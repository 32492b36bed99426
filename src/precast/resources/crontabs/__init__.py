"""Crontabs of users: their syntax, and the spool directory."""
