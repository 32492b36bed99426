"""Errors and warnings of plans, in sections by the modules that raise them."""
