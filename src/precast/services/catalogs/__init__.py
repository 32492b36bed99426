"""Catalogs: staged, released and served ones, their differences, their origin in the code, and what is deleted when nothing needs it."""
