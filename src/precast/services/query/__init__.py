"""Queries over the fleet: nodes, facts, resources in released catalogs."""
