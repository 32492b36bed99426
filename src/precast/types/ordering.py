"""The order of a catalog with what the managed types add to it by themselves: a file follows its directory, a service its package."""

from collections.abc import Iterator, Mapping
from typing import Any

from precast.catalog import issues
from precast.catalog.body import DEFINED, Body, ResourceData
from precast.catalog.order import Order, relations
from precast.types import catalogue
from precast.types.declaration import AutoRelation, ManagedType

# Types that modules bring, by name.
Types = Mapping[str, ManagedType]
NO_TYPES: Types = {}


def _find(name: str, types: Types) -> ManagedType | None:
    return catalogue.find(name) or types.get(name) or catalogue.find_any(name)


def is_container(resource: ResourceData) -> bool:
    """Whether a resource only holds others: a class, a stage, a node block, a define."""
    return resource.kind == DEFINED or resource.type in ("Class", "Stage", "Node")


def graph(body: Body, types: Types = NO_TYPES) -> Order:
    """The graph of a catalog: containment, relationships, and what types follow by themselves. Raises InputError CATALOG-001."""
    order = Order(body, is_container)
    by_name = _names(body, types)
    refs = {each.ref for each in body.resources}
    for before, after, refreshes in relations(body):
        ends = [ref if ref in refs else _resolved(ref, by_name, types) for ref in (before, after)]
        order.wait(ends[0], ends[1], refreshes)
    for resource in body.resources:
        declared = _find(resource.type.lower(), types)
        if declared is not None and declared.relations:
            for other, is_before in _followed(resource, declared, by_name, types):
                order.follow(other, resource.ref) if not is_before else order.follow(resource.ref, other)
    return order


def application_order(body: Body, types: Types = NO_TYPES) -> tuple[list[str], list[str]]:
    """References in the order they are applied, and one cycle of references if there is any; `types` are those of modules."""
    return graph(body, types).resources()


def _resolved(ref: str, by_name: dict[tuple[str, str], str], types: Types) -> str:
    """A resource that is named by its alias or by another spelling of its name."""
    kind, _, title = ref.partition("[")
    name, title = kind.lower(), title.removesuffix("]")
    declared = _find(name, types)
    found = by_name.get((name, title)) or (declared and by_name.get((name, declared.title_to_namevar(title))))
    if not found:
        raise issues.NO_SUCH_RESOURCE.error(ref=ref)
    return found


def _names(body: Body, types: Types) -> dict[tuple[str, str], str]:
    """References by type and by title as well as by the name that tells the managed things apart."""
    names: dict[tuple[str, str], str] = {}
    for resource in body.resources:
        kind = resource.type.lower()
        names[kind, resource.title] = resource.ref
        for alias in _listed(resource.parameters.get("alias")):
            names.setdefault((kind, alias), resource.ref)
        declared = _find(kind, types)
        if declared is not None:
            names.setdefault((kind, _name(resource, declared)), resource.ref)
    return names


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _name(resource: ResourceData, declared: ManagedType) -> str:
    given = resource.parameters.get(declared.namevar, resource.parameters.get("name"))
    return given if isinstance(given, str) else declared.title_to_namevar(resource.title)


def _followed(
    resource: ResourceData, declared: ManagedType, by_name: dict[tuple[str, str], str], types: Types
) -> Iterator[tuple[str, bool]]:
    for relation in declared.relations:
        if (
            _find(relation.type_name, types) is None
        ):  # a class or define is never followed by itself, whatever a type says
            continue
        for title in _titles(resource, declared, relation):
            ref = by_name.get((relation.type_name, title))
            if ref is not None and ref != resource.ref:
                yield ref, relation.kind == "before"
                if relation.derivation == "parents":
                    break  # the nearest directory is enough: it follows those above it


def _titles(resource: ResourceData, declared: ManagedType, relation: AutoRelation) -> Iterator[str]:
    yield from relation.titles
    for attribute in relation.attributes:
        value = resource.parameters.get(attribute)
        if value is None and attribute in declared.namevars:
            value = _name(resource, declared)
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, str):
                yield from _derived(each, relation)


def _derived(value: str, relation: AutoRelation) -> Iterator[str]:
    if relation.derivation == "title":
        yield value
    elif relation.derivation == "path":
        if value.startswith("/"):
            yield value
    elif relation.derivation == "program":
        yield value.split(" ")[0]
    else:
        while "/" in value.rstrip("/") and value.rstrip("/"):
            value = value.rstrip("/").rpartition("/")[0] or "/"
            yield value
            if value == "/":
                return
