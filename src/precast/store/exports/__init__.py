"""Exported resources in the database."""
