"""Bodies about secrets."""
