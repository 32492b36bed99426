"""Plans the index lookups of queries over resources, and reads the fields of resources.

The lookups of a query together find all matching resources, and perhaps others: each resource is checked against the query afterwards.
A resource that two lookups find counts for the first.
"""

import fnmatch
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from precast.agent.facts import fact_paths
from precast.services.query.predicates import ABSENT, Predicate
from precast.store.engine.query import Transaction
from precast.store.query.resource_index import OPEN, TAG, Cursor, Resource, ResourceIndex, index_key, index_keys
from precast.wire.query.targets import (
    And,
    Comparison,
    Field,
    HasResource,
    Membership,
    NodeName,
    Or,
    ResourceReference,
    Term,
)


class IndexLookup(msgspec.Struct, frozen=True):
    """A lookup in the index by the keys that are given, the most selective first. A lookup without keys finds all resources."""

    type: str | None = None
    title: str | None = None
    name: str | None = None
    value_key: str = ""
    catalogs: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """An estimate of how many resources it finds: a lower rank finds fewer."""
        if self.title is not None:
            return 0
        if self.name is not None:
            return 1 if self.type is not None else 2
        return 3 if self.type is not None else 4

    def covers(self, resource: Resource) -> bool:
        """Whether it finds a resource."""
        if self.type is not None and resource.type != self.type:
            return False
        if self.title is not None:
            return index_key(resource.title) == index_key(self.title)
        if self.name is None:
            return True
        values = resource.tags if self.name == TAG else resource.parameters.get(self.name)
        return self.value_key in index_keys(values)

    def read(self, index: ResourceIndex, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        """Read a page of the resources that it finds, after a cursor."""
        if self.catalogs:
            return (yield from index.list_in_catalogs(self.catalogs, after, limit))
        if self.title is not None and self.type is not None:
            return (yield from index.find_by_reference(self.type, self.title, after, limit))
        if self.title is not None:
            return (yield from index.find_by_title(self.title, after, limit))
        if self.name is not None:
            return (yield from index.find_by_value(self.name, self.value_key, self.type, after, limit))
        if self.type is not None:
            return (yield from index.find_by_type(self.type, after, limit))
        return (yield from index.list_all(after, limit))


ALL_RESOURCES = IndexLookup()


def plan_lookups(term: Term | None) -> list[IndexLookup]:
    """Plan lookups that together find all resources that can match."""
    if isinstance(term, Or):
        lookups = [lookup for operand in term.terms for lookup in plan_lookups(operand)]
        return [ALL_RESOURCES] if ALL_RESOURCES in lookups else list(dict.fromkeys(lookups))
    if isinstance(term, And):
        plans = [plan_lookups(operand) for operand in term.terms]
        best = min(plans, key=lambda plan: max(lookup.rank for lookup in plan))
        types = [type_ for operand in term.terms for type_ in _types(operand)]
        # The type is part of most keys, so with a type the index excludes the same value of other types.
        return [
            msgspec.structs.replace(lookup, type=types[0]) if types and lookup.type is None else lookup
            for lookup in best
        ]
    if isinstance(term, ResourceReference):
        return [IndexLookup(type=term.type) if term.is_glob else IndexLookup(type=term.type, title=class_title(term))]
    if isinstance(term, Comparison) and term.sign == "=":
        return _by_value(term.field, [term.value.value])
    if isinstance(term, Membership):
        return _by_value(term.field, [accepted.value for accepted in term.values])
    return [ALL_RESOURCES]


def _by_value(field: Field, values: Sequence[object]) -> list[IndexLookup]:
    match field.parts:
        case ("type",):
            return [IndexLookup(type=type_name(str(value))) for value in values]
        case ("title",):
            # The title of a class is capitalised like a type, but people write it in lower case as in manifests.
            return [
                IndexLookup(title=title)
                for value in values
                for title in dict.fromkeys([str(value), type_name(str(value))])
            ]
        case ("tag",):
            return [IndexLookup(name=TAG, value_key=index_key(value)) for value in values]
        case ("parameters", name):
            keys = dict.fromkeys([*map(index_key, values), OPEN])
            return [IndexLookup(name=name, value_key=value_key) for value_key in keys]
    return [ALL_RESOURCES]


def _types(term: Term) -> list[str]:
    """The type that a term requires, if any."""
    if isinstance(term, Comparison) and term.sign == "=" and term.field.parts == ("type",):
        return [type_name(str(term.value.value))]
    return [term.type] if isinstance(term, ResourceReference) else []


class ResourceFieldReader:
    """Reads the fields of resources."""

    def reader_for(self, parts: tuple[str, ...]) -> Callable[[Resource], Any]:
        first, *rest = parts
        if first == "tag":
            return lambda resource: resource.tags
        if first == "parameters":
            path = ".".join(rest)
            return lambda resource: _parameter(resource.parameters, path)
        if first == "type":
            # As catalogs write it, and as manifests do.
            return lambda resource: [resource.type, resource.type.lower()]
        if first == "title":
            return lambda resource: (
                [resource.title, resource.title.lower()] if resource.type == "Class" else resource.title
            )
        return lambda resource: resource.exported

    def standalone_predicate(self, term: NodeName | ResourceReference | HasResource) -> Predicate:
        assert isinstance(term, ResourceReference), "resources have no plain names"
        title = class_title(term)
        if not term.is_glob:
            return lambda resource: bool(resource.type == term.type and resource.title == title)
        # Brackets are common in titles, so they are literal.
        pattern = title.replace("[", "[[]")
        return lambda resource: bool(resource.type == term.type and fnmatch.fnmatchcase(resource.title, pattern))


def type_name(text: str) -> str:
    """The name of a type as catalogs write it."""
    return "::".join(part[:1].upper() + part[1:].lower() for part in text.removeprefix("::").split("::"))


def class_title(term: ResourceReference) -> str:
    """The title as catalogs write it: titles of classes are capitalised like types."""
    return type_name(term.title) if term.type == "Class" and term.title != "main" else term.title


def _parameter(parameters: dict[str, Any], path: str) -> Any:
    try:
        return fact_paths.find(parameters, path)
    except LookupError:
        return ABSENT
