"""Ways to search for data: each takes any iterable of sources, and says which there are."""
