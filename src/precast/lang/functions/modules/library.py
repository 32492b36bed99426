"""Which file of this folder declares a function: a table, so that nothing is imported before it is called."""

import importlib
from collections.abc import Iterator
from typing import Final

from precast.lang.functions.modules.declaration import ModuleFunction
from precast.lang.functions.registry import Function

FILES: Final[dict[str, str]] = {
    "arrays": "concat count delete delete_at delete_regex difference grep intersection member prefix reject reverse suffix union zip",
    "choices": "any2array any2bool bool2num bool2str num2bool pick pick_default str2bool",
    "deprecation": "deprecation",
    "hashes": "deep_merge delete_undef_values delete_values has_key hash join_keys_to_values merge",
    "resources": "create_ini_settings defined_with_params ensure_packages ensure_resource ensure_resources getparam"
    " inifile::create_ini_settings stdlib::ensure_packages stdlib::str2resource",
}

# Functions of later versions of these modules than the rows of truth were asked with.
NEWER: Final = frozenset(["stdlib::ensure_packages"])

_HOMES: Final = {name: file for file, names in FILES.items() for name in names.split()}


def find(name: str) -> Function | None:
    """The function of that name, in lower case and without leading `::`."""
    home = _HOMES.get(name)
    if home is None:
        return None
    importlib.import_module(f"precast.lang.functions.modules.{home}")
    return ModuleFunction.named(name)


def functions() -> Iterator[tuple[str, Function]]:
    """Every function by name; imports all files."""
    for name in sorted(_HOMES):
        found = find(name)
        assert found is not None
        yield name, found
