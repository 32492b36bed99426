"""How a resource of a type is applied on a node: by Precast itself, by the Ruby code of its module, or not at all."""

import re
from collections.abc import Mapping
from typing import Any, Final

from precast.types import catalogue
from precast.types.declaration import ManagedType

NATIVE: Final = "native"
BRIDGED: Final = "bridged"
NOT_THERE: Final = "not there"


def how_applied(declared: ManagedType) -> str:
    """`native` if Precast or a Python plug-in applies the type, `bridged` if only a Puppet on the node can, else `not there`."""
    if catalogue.is_applied(declared.name) or declared.code == "python" or declared.config_file is not None:
        return NATIVE
    is_puppets_own = catalogue.find(declared.name) is not None
    return BRIDGED if declared.code == "ruby" or is_puppets_own else NOT_THERE


def find_foreign(type_name: str, parameters: Mapping[str, Any]) -> str:
    """What a resource asks for that only its module's own code can do, in words; empty if Precast's own type can apply it.

    A module's version decides which parameters and providers its types have, and Precast's type knows those of one version. To ignore
    what it does not know would leave the node in another state than the module does.
    """
    declared = catalogue.find_any(type_name)
    if declared is None or not declared.module or not declared.is_applied:
        return ""
    known = declared.attributes | catalogue.METAPARAMETERS.keys() | {"name", "provider"}
    unknown = sorted(name for name, value in parameters.items() if value is not None and name not in known)
    if unknown:
        return f"it has no parameter {unknown[0]}"
    provider = parameters.get("provider")
    if provider is not None and str(provider) not in declared.providers:
        return f"it does not stand for the provider {provider}"
    for name, pattern in declared.foreign.items():
        value = parameters.get(name)
        if value is not None and re.fullmatch(pattern, str(value), re.IGNORECASE | re.DOTALL):
            return f"it cannot do what {name} asks for"
    return ""
