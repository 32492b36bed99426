"""The index of resources in released catalogs, which queries search."""
