"""Bodies of the API about staged and released catalogs, and about the origin of their resources."""
