"""Types whose resources are each one setting of a configuration file: `nova_config { 'DEFAULT/debug': value => true }`.

Modules declare hundreds of them, which differ only in the file and in a few choices. The compiler reads those from the module's Ruby files,
and the catalog carries them to the node, because the node has no modules. A type that deviates from these choices is not of the family.
"""

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from precast.types.declaration import ConfigFileType, ManagedType


def to_data(types: Mapping[str, ConfigFileType]) -> dict[str, Any]:
    """The types as a catalog's body has them."""
    return {name: {"config_file": msgspec.to_builtins(found)} for name, found in sorted(types.items())}


def of_data(data: Mapping[str, Any]) -> dict[str, ConfigFileType]:
    """The types in a catalog's body; those of other families and of later versions are left out."""
    found = {}
    for name, each in data.items():
        try:
            found[name] = msgspec.convert(each["config_file"], ConfigFileType)
        except (msgspec.ValidationError, KeyError, TypeError):
            continue
    return found


def declarations(types: Mapping[str, ConfigFileType]) -> dict[str, ManagedType]:
    """The declarations of types of the family, for code that orders a catalog."""
    return {name: _declaration(name, known) for name, known in types.items()}


@functools.cache
def _declaration(name: str, known: ConfigFileType) -> ManagedType:
    return ManagedType(
        name,
        "A setting of a configuration file.",
        {attribute: "" for attribute in known.attributes if attribute in ("ensure", "value")},
        {attribute: "" for attribute in known.attributes if attribute not in ("ensure", "value")},
        relations=known.relations,
        config_file=known,
    )
