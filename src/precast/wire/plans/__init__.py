"""Bodies of the API about plans."""
