"""Catalogs: their documents, the staged catalog of each node, and the catalogs released to it."""
