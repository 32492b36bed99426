"""Secrets as they travel: to the nodes whose catalogs name them, and what people see of them, which is never a value."""
