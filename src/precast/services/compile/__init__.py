"""Compiles: which catalog each node gets, the worker processes that compile, and how far decisions and compiles are."""
