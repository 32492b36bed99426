"""All functions that come with Precast, by the modules that declare them."""

import importlib

MODULES = (
    "catalog", "chaining", "chance", "collections", "conversions", "digests", "files", "futures", "iteration", "logs", "lookups",
    "navigation", "numbers", "scanning", "slices", "strings", "texts", "trees", "versions",
)  # fmt: skip


def load() -> None:
    """Declares all functions; again is no harm."""
    for name in MODULES:
        importlib.import_module(f"precast.lang.functions.{name}")
