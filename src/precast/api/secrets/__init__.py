"""Routes about secrets."""
