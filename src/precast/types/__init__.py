"""Declarations of managed types: what a catalog may say about a resource, apart from how it is done on a node."""
