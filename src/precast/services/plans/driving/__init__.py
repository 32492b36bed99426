"""A run of a plan while a server drives it."""
