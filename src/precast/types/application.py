"""How a resource of a type is applied on a node: by Precast itself, by the Ruby code of its module, or not at all."""

from typing import Final

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
