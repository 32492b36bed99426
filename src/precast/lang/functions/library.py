"""Loads all built-in functions, by the modules that declare them."""

import importlib

MODULES = (
    "case_and_whitespace", "catalog", "collections", "control_flow", "conversions", "digests", "files", "fqdn_rand", "futures",
    "iteration", "logs", "lookups", "navigation", "numbers", "puppetdb", "scanf", "secrets", "slices", "strings", "tree_each",
    "versioncmp",
)  # fmt: skip


def load() -> None:
    """Declare all functions. A second call does nothing."""
    for name in MODULES:
        importlib.import_module(f"precast.lang.functions.{name}")
