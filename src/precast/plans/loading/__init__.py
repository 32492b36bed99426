"""Loads plans: YAML in the fields of Fuel and in our own becomes a `Plan`, or errors that name file, line and column."""
