"""What the compiler must know of the managed types: their names, parameters and keys. The room `types` declares them."""

from typing import Any

from precast.lang.compiler.resources import RELATIONS, Resource
from precast.types import catalogue


def is_managed(name: str) -> bool:
    return catalogue.find(name) is not None


def names() -> list[str]:
    return catalogue.names()


def is_metaparameter(name: str) -> bool:
    return name in catalogue.METAPARAMETERS


def has_parameter(type_name: str, name: str) -> bool:
    declared = catalogue.find(type_name)
    return declared is not None and (name in declared.attributes or is_metaparameter(name) or name == "name")


def parameters(type_name: str) -> list[str]:
    declared = catalogue.find(type_name)
    return sorted(declared.attributes) if declared is not None else []


def must_be_known(type_name: str, name: str) -> bool:
    """Whether a parameter steers the catalog itself or names the thing: it cannot wait for a value."""
    if is_metaparameter(name):
        return True
    declared = catalogue.find(type_name)
    if declared is None:
        return name == "name"
    return name in declared.never_deferred or (name in declared.namevars and declared.is_isomorphic)


def is_handed_down(name: str) -> bool:
    """Whether what a container says of it goes for all it contains."""
    return is_metaparameter(name) and name not in RELATIONS


def unique_key(resource: Resource) -> str | None:
    """What no other resource of the type may share, where it has such a thing: the file's path, the user's name."""
    declared = catalogue.find(resource.type_name)
    if declared is None or not declared.is_isomorphic or len(declared.namevars) != 1:
        return None
    given = resource.value(declared.namevar)
    if given is None and declared.namevar != "name":
        given = resource.value("name")
    return given if isinstance(given, str) else declared.title_to_namevar(resource.title)


def with_namevar(resource: Resource) -> dict[str, Any]:
    """The parameters' values, and first the name that the title stands for where the two differ."""
    values = {name: parameter.value for name, parameter in resource.parameters.items()}
    declared = catalogue.find(resource.type_name) if resource.definition is None else None
    if declared is not None and declared.title_patterns:
        for name, value in declared.names_of_title(resource.title).items():
            if value != resource.title and name not in values:
                values = {name: value, **values}
    return values
