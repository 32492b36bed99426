"""The order of a catalog with what the managed types add to it by themselves: a file follows its directory, a service its package."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any

from precast.catalog import issues
from precast.catalog.body import DEFINED, Body, ResourceData
from precast.catalog.order import Order, relations
from precast.types import catalogue
from precast.types.declaration import AutoRelation, ManagedType

# Types that modules bring, by name.
Types = Mapping[str, ManagedType]
NO_TYPES: Types = {}

Find = Callable[[str], ManagedType | None]
# References by type and by title, and by the name that tells the managed things apart.
Names = dict[tuple[str, str], str]


class _Named:
    """A resource, with what is asked of it again and again."""

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
    """Whether a resource only holds others: a class, a stage, a node block, a define."""
    return resource.kind == DEFINED or resource.type in ("Class", "Stage", "Node")


def graph(body: Body, types: Types = NO_TYPES) -> Order:
    """The graph of a catalog: containment, relationships, and what types follow by themselves. Raises InputError CATALOG-001."""
    order = Order(body, is_container)
    find = _finder(types)
    resources = [_Named(each, find) for each in body.resources]
    names = _names(resources)
    refs = {each.ref for each in resources}
    for before, after, refreshes in relations(body):
        ends = [ref if ref in refs else _resolved(ref, names, find) for ref in (before, after)]
        order.wait(ends[0], ends[1], refreshes)
    for each in resources:
        if each.declared is not None:
            for relation in each.declared.relations:
                if titles := _titles(each, relation):
                    _follow(order, each, relation, titles, names, find)
    return order


def application_order(body: Body, types: Types = NO_TYPES) -> tuple[list[str], list[str]]:
    """References in the order they are applied, and one cycle of references if there is any; `types` are those of modules."""
    return graph(body, types).resources()


def _finder(types: Types) -> Find:
    @cache
    def find(name: str) -> ManagedType | None:
        return catalogue.find(name) or types.get(name) or catalogue.find_any(name)

    return find


def _resolved(ref: str, names: Names, find: Find) -> str:
    """A resource that is named by its alias or by another spelling of its name."""
    kind, _, title = ref.partition("[")
    name, title = kind.lower(), title.removesuffix("]")
    declared = find(name)
    found = names.get((name, title)) or (declared and names.get((name, declared.title_to_namevar(title))))
    if not found:
        raise issues.NO_SUCH_RESOURCE.error(ref=ref)
    return found


def _names(resources: Iterable[_Named]) -> Names:
    names: Names = {}
    for each in resources:
        names[each.kind, each.title] = each.ref
        for alias in _listed(each.parameters.get("alias")):
            names.setdefault((each.kind, alias), each.ref)
        if each.name != each.title:
            names.setdefault((each.kind, each.name), each.ref)
    return names


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _follow(
    order: Order, resource: _Named, relation: AutoRelation, titles: Iterable[str], names: Names, find: Find
) -> None:
    """Have a resource follow (or come before) those that one declaration of its type means, as far as there are any."""
    if find(relation.type_name) is None:
        return  # a class or define is never followed by itself, whatever a type says
    for title in titles:
        ref = names.get((relation.type_name, title))
        if ref is not None and ref != resource.ref:
            order.follow(resource.ref, ref) if relation.kind == "before" else order.follow(ref, resource.ref)
            if relation.derivation == "parents":
                return  # the nearest directory is enough: it follows those above it


def _titles(resource: _Named, relation: AutoRelation) -> Iterable[str]:
    """The titles that a resource means; mostly none."""
    values: list[Any] = []
    for attribute in relation.attributes:
        value = resource.parameters.get(attribute)
        if value is None and resource.declared is not None and attribute in resource.declared.namevars:
            value = resource.name
        if value is not None:
            values += value if isinstance(value, list) else (value,)
    if not values:
        return relation.titles
    return chain(relation.titles, (title for value in values for title in _derived(value, relation.derivation)))


def _derived(value: Any, derivation: str) -> Iterator[str]:
    if not isinstance(value, str):
        return
    if derivation == "title":
        yield value
    elif derivation == "path":
        if value.startswith("/"):
            yield value
    elif derivation == "program":
        yield value.split(" ")[0]
    else:
        while "/" in value.rstrip("/") and value.rstrip("/"):
            value = value.rstrip("/").rpartition("/")[0] or "/"
            yield value
            if value == "/":
                return
