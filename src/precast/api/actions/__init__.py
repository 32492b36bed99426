"""Routes about actions."""
