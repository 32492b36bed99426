"""Evaluates the YAQL expressions of plans: a server sends them with data of nodes to a confined process that it can kill."""
