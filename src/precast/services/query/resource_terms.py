"""Queries over resources: how a resource is read, and by which keys of the index those are found that can fit.

A *way* leads to resources through the index. The ways of a query lead to all that fit, and perhaps to more: each is held against the
query afterwards. Where one resource is reached by two ways, it counts for the first.
"""

import fnmatch
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from precast.agent.facts import paths
from precast.services.query.matching import ABSENT, Test
from precast.store.engine.query import Transaction
from precast.store.query.resource_index import OPEN, TAG, CatalogIndex, Cursor, Resource, key, value_keys
from precast.wire.query.targets import And, Comparison, Field, Has, Membership, Named, Or, Referred, Term


class Way(msgspec.Struct, frozen=True):
    """A way through the index: by what is given, the most telling first. Nothing given leads to everything."""

    type: str | None = None
    title: str | None = None
    name: str | None = None
    value_key: str = ""
    catalogs: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """How few resources it leads to, by experience: the lower the fewer."""
        if self.title is not None:
            return 0
        if self.name is not None:
            return 1 if self.type is not None else 2
        return 3 if self.type is not None else 4

    def covers(self, one: Resource) -> bool:
        """Whether it leads to a resource."""
        if self.type is not None and one.type != self.type:
            return False
        if self.title is not None:
            return key(one.title) == key(self.title)
        if self.name is None:
            return True
        values = one.tags if self.name == TAG else one.parameters.get(self.name)
        return self.value_key in value_keys(values)

    def reading(self, index: CatalogIndex, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        """Some of those it leads to, from after one on."""
        if self.catalogs:
            return (yield from index.of_catalogs(self.catalogs, after, limit))
        if self.title is not None and self.type is not None:
            return (yield from index.by_reference(self.type, self.title, after, limit))
        if self.title is not None:
            return (yield from index.by_title(self.title, after, limit))
        if self.name is not None:
            return (yield from index.by_value(self.name, self.value_key, self.type, after, limit))
        if self.type is not None:
            return (yield from index.by_type(self.type, after, limit))
        return (yield from index.everything(after, limit))


EVERYWHERE = Way()


def ways(term: Term | None) -> list[Way]:
    """How to reach everything that can fit."""
    if isinstance(term, Or):
        found = [way for one in term.terms for way in ways(one)]
        return [EVERYWHERE] if EVERYWHERE in found else list(dict.fromkeys(found))
    if isinstance(term, And):
        best = min((ways(one) for one in term.terms), key=lambda found: max(way.rank for way in found))
        types = [one for term in term.terms for one in _types(term)]
        # The type is part of most keys: a value of one type is told from the same value of another.
        return [msgspec.structs.replace(way, type=types[0]) if types and way.type is None else way for way in best]
    if isinstance(term, Referred):
        return [Way(type=term.type) if term.is_glob else Way(type=term.type, title=class_title(term))]
    if isinstance(term, Comparison) and term.sign == "=":
        return _by_value(term.field, [term.value.value])
    if isinstance(term, Membership):
        return _by_value(term.field, [one.value for one in term.values])
    return [EVERYWHERE]


def _by_value(field: Field, values: Sequence[object]) -> list[Way]:
    match field.parts:
        case ("type",):
            return [Way(type=type_name(str(one))) for one in values]
        case ("title",):
            # A class has the name of a type for a title, and people write it as in the code.
            return [Way(title=each) for one in values for each in dict.fromkeys([str(one), type_name(str(one))])]
        case ("tag",):
            return [Way(name=TAG, value_key=key(one)) for one in values]
        case ("parameters", name):
            return [Way(name=name, value_key=one) for one in dict.fromkeys([*map(key, values), OPEN])]
    return [EVERYWHERE]


def _types(term: Term) -> list[str]:
    """The one type that a term asks for, if it does."""
    if isinstance(term, Comparison) and term.sign == "=" and term.field.parts == ("type",):
        return [type_name(str(term.value.value))]
    return [term.type] if isinstance(term, Referred) else []


class ResourceReading:
    """Reads resources."""

    def looking_up(self, parts: tuple[str, ...]) -> Callable[[Resource], Any]:
        first, *rest = parts
        if first == "tag":
            return lambda one: one.tags
        if first == "parameters":
            path = ".".join(rest)
            return lambda one: _parameter(one.parameters, path)
        if first == "type":
            # As catalogs write it, and as code does.
            return lambda one: [one.type, one.type.lower()]
        if first == "title":
            return lambda one: [one.title, one.title.lower()] if one.type == "Class" else one.title
        return lambda one: one.exported

    def standing(self, term: Named | Referred | Has) -> Test:
        assert isinstance(term, Referred), "of resources there are no names"
        title = class_title(term)
        if not term.is_glob:
            return lambda one: bool(one.type == term.type and one.title == title)
        # Brackets are common in titles: they stand for themselves.
        pattern = title.replace("[", "[[]")
        return lambda one: bool(one.type == term.type and fnmatch.fnmatchcase(one.title, pattern))


def type_name(text: str) -> str:
    """A type as catalogs write it."""
    return "::".join(part[:1].upper() + part[1:].lower() for part in text.removeprefix("::").split("::"))


def class_title(term: Referred) -> str:
    """The title that is meant: those of classes are names of types."""
    return type_name(term.title) if term.type == "Class" and term.title != "main" else term.title


def _parameter(parameters: dict[str, Any], path: str) -> Any:
    try:
        return paths.find(parameters, path)
    except LookupError:
        return ABSENT
