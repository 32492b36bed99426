"""`precast catalog`, `release` and `rollback`: the staged and released catalogs of nodes, and where their resources are declared."""
