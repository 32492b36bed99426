"""Maintenance windows as they travel: rules, intervals, bodies of the API."""
