"""All methods that templates can call, by the modules that declare them."""

import importlib

MODULES = ("general", "numbers", "texts", "enumerable", "arrays", "hashes", "world")


def load() -> None:
    """Declares all methods; again is no harm."""
    for name in MODULES:
        importlib.import_module(f"precast.lang.ruby.erb.methods_{name}")
