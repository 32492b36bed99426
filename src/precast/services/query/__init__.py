"""Queries over the fleet: targets, nodes, facts, resources in released catalogs, reports."""
