"""Crontabs of users: their text, and where they are."""
