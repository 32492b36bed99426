"""The order of a catalog with the automatic relationships of the managed types: a file follows its directory, an exec its user."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, Final

from precast.catalog import issues
from precast.catalog.body import DEFINED, Body, ResourceData
from precast.catalog.order import REFRESHING, Order, relations
from precast.types import catalogue
from precast.types.declaration import AutoRelation, ManagedType

# Types that modules declare, by name.
Types = Mapping[str, ManagedType]
NO_TYPES: Types = {}

# Where a command line names its program: at the start of each line.
_PROGRAM: Final = re.compile(r"^(/\S+)", re.MULTILINE)
_QUOTED_PROGRAM: Final = re.compile(r'^"([^"]+)"', re.MULTILINE)

# The reference of a resource, and what it names: require, subscribe, before or notify, the type and the title of the other resource.
NamedRelation = tuple[str, str, str, str]
Find = Callable[[str], ManagedType | None]
# References by type and title, and by type and namevar.
Names = dict[tuple[str, str], str]


class _NamedResource:
    """A resource with the values that are needed repeatedly."""

    __slots__ = ("declared", "kind", "name", "parameters", "ref", "title")

    def __init__(self, resource: ResourceData, find: Find) -> None:
        self.ref = resource.ref
        self.title = resource.title
        self.parameters = resource.parameters
        self.kind = kind = resource.type.lower()
        self.declared = declared = find(kind)
        self.name = self.title
        if declared is not None:
            given = self.parameters.get(declared.namevar, self.parameters.get("name"))
            self.name = given if isinstance(given, str) else declared.title_to_namevar(self.title)


def is_container(resource: ResourceData) -> bool:
    """Whether a resource only contains others: a class, a stage, a node block, a define."""
    return resource.kind == DEFINED or resource.type in ("Class", "Stage", "Node")


def graph(body: Body, types: Types = NO_TYPES) -> Order:
    """The graph of a catalog: containment, relationships, and automatic relationships of types. Raises InputError CATALOG-001."""
    order = Order(body, is_container)
    find = _finder(types)
    resources = [_NamedResource(resource, find) for resource in body.resources]
    names = _names(resources)
    _relate(order, body, lambda ref: _resolve(ref, names, find))
    for resource in resources:
        if resource.declared is not None:
            for relation in resource.declared.relations_of(resource.title):
                if titles := _titles(resource, relation):
                    _follow(order, resource, relation, titles, names, find)
    return order


def follow_named(order: Order, body: Body, relations: Iterable[NamedRelation], types: Types = NO_TYPES) -> None:
    """Add automatic relationships that the types themselves have named on the node, as far as the catalog has the other resource."""
    find = _finder(types)
    names = _names([_NamedResource(resource, find) for resource in body.resources])
    for ref, kind, type_name, title in relations:
        other = names.get((type_name, title)) or names.get((type_name, title.rstrip("/") or title))
        if other is None or other == ref:
            continue
        before, after = (ref, other) if kind in ("before", "notify") else (other, ref)
        order.follow(before, after, kind in REFRESHING)


def find_cycle(body: Body, types: Types = NO_TYPES) -> list[str]:
    """One cycle of the catalog's graph; empty if there is none. Raises InputError CATALOG-001.

    Automatic relationships are left out, because none of them ever closes a cycle.
    """
    order = Order(body, is_container)
    _relate(order, body, resolver(body, types))
    return order.find_cycle()


def resolver(body: Body, types: Types = NO_TYPES) -> Callable[[str], str]:
    """Finds the reference of a resource by its alias or by another spelling of its name. Raises InputError CATALOG-001 if there is none."""
    find = _finder(types)

    @cache
    def names() -> Names:
        return _names([_NamedResource(resource, find) for resource in body.resources])

    return lambda ref: _resolve(ref, names(), find)


def _relate(order: Order, body: Body, resolve: Callable[[str], str]) -> None:
    """Add the relationships of a catalog to its graph; `resolve` finds the reference of a resource by another of its names."""
    for before, after, refreshes in relations(body):
        order.wait(
            before if before in order else resolve(before), after if after in order else resolve(after), refreshes
        )


def application_order(body: Body, types: Types = NO_TYPES) -> tuple[list[str], list[str]]:
    """References in the order in which they are applied, and one cycle of references if there is any; `types` are those of modules."""
    return graph(body, types).resources()


def _finder(types: Types) -> Find:
    @cache
    def find(name: str) -> ManagedType | None:
        return catalogue.find(name) or types.get(name) or catalogue.find_any(name)

    return find


def _resolve(ref: str, names: Names, find: Find) -> str:
    """Find a resource by its alias or by another spelling of its name. Raises InputError CATALOG-001."""
    kind, _, title = ref.partition("[")
    name, title = kind.lower(), title.removesuffix("]")
    declared = find(name)
    resolved = names.get((name, title)) or (declared and names.get((name, declared.title_to_namevar(title))))
    if not resolved:
        raise issues.NO_SUCH_RESOURCE.error(ref=ref)
    return resolved


def _names(resources: Iterable[_NamedResource]) -> Names:
    names: Names = {}
    for resource in resources:
        names[resource.kind, resource.title] = resource.ref
        for alias in _as_list(resource.parameters.get("alias")):
            names.setdefault((resource.kind, alias), resource.ref)
        if resource.name != resource.title:
            names.setdefault((resource.kind, resource.name), resource.ref)
    return names


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _follow(
    order: Order, resource: _NamedResource, relation: AutoRelation, titles: Iterable[str], names: Names, find: Find
) -> None:
    """Let a resource follow (or come before) the resources with these titles, as far as the catalog has them."""
    if find(relation.type_name) is None:
        return  # a class or define is never followed automatically, whatever a type declares
    for title in titles:
        ref = names.get((relation.type_name, title))
        if ref is not None and ref != resource.ref:
            order.follow(resource.ref, ref) if relation.kind == "before" else order.follow(ref, resource.ref)
            if relation.derivation == "parents":
                return  # the nearest directory is enough: it follows those above it


def _titles(resource: _NamedResource, relation: AutoRelation) -> Iterable[str]:
    """The titles to which an automatic relationship of a resource points; usually none."""
    values: list[Any] = []
    for attribute in relation.attributes:
        value = _value(resource, attribute)
        if relation.derivation == "program":
            values.append(_program(value))
        elif relation.derivation == "programs":
            values += map(_program, value if isinstance(value, list) else (value,))
        elif value is not None:
            values += value if isinstance(value, list) else (value,)
    if not values and not relation.formats:
        return relation.titles
    formatted = (_format(resource, parts) for parts in relation.formats)
    derived = (title for value in values for title in _derive(value, relation.derivation))
    return chain(relation.titles, formatted, derived)


def _value(resource: _NamedResource, attribute: str) -> Any:
    value = resource.parameters.get(attribute)
    if value is None and resource.declared is not None and attribute in resource.declared.namevars:
        return resource.name
    return value


def _program(command: Any) -> Any:
    """The text that names the program: a command is a line or a list of words."""
    return command[0] if isinstance(command, list) and command else command


def _format(resource: _NamedResource, parts: tuple[str, ...]) -> str:
    """Texts and the values of attributes in turn; an attribute without a value adds nothing."""
    values = (part if at % 2 == 0 else _value(resource, part) for at, part in enumerate(parts))
    return "".join(str(value) for value in values if value is not None)


def _derive(value: Any, derivation: str) -> Iterator[str]:
    if not isinstance(value, str):
        return
    if derivation == "title":
        yield value
    elif derivation == "path":
        if value.startswith("/"):
            yield value
    elif derivation in ("program", "programs"):
        yield from _PROGRAM.findall(value)
        if derivation == "program":
            yield from _QUOTED_PROGRAM.findall(value)
    else:
        while "/" in value.rstrip("/") and value.rstrip("/"):
            value = value.rstrip("/").rpartition("/")[0] or "/"
            yield value
            if value == "/":
                return
