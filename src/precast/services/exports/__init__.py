"""Exported resources: what nodes export, what collectors see of it, and the rounds in which changes reach them."""
