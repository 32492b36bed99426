"""Loads all methods that Ruby code can call, by the modules that declare them."""

import importlib

# In this order: methods of symbols are made of those of strings, and arrays and hashes replace some of Enumerable's.
MODULES = (
    "objects", "numbers", "strings", "string_patterns", "string_bytes", "symbols", "enumerable", "enumerable_groups",
    "arrays", "array_changes", "hashes", "scope", "kernel", "classes", "user_classes", "matches",
)  # fmt: skip
LIBRARIES = ("serialization", "digests", "addresses", "uris", "sets", "words", "versions", "pathnames")


def load() -> None:
    """Declare all methods. A second call does nothing."""
    for name in MODULES:
        importlib.import_module(f"precast.lang.ruby.methods.{name}")
    for name in LIBRARIES:
        importlib.import_module(f"precast.lang.ruby.libraries.{name}")
