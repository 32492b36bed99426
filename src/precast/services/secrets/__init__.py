"""Secrets: the values that catalogs hold only as references, and the keys that seal them."""
