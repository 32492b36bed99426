"""Collectors: `File <| … |>`, `File <<| … |>>` and `realize`, which make virtual resources real and may override what they find.

A collector stays until the compile ends, since what it wants may be declared later. It overrides each resource once.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang.compiler.overrides import merge
from precast.lang.compiler.resources import Resource, capitalized
from precast.lang.evaluator.translation import place
from precast.lang.scope import Scope
from precast.lang.values.core import Rich, equals

if TYPE_CHECKING:
    from precast.lang.compiler.catalog import Catalog
    from precast.lang.compiler.run import Run

Query = Callable[[Resource], bool]


def collect_all(resource: Resource) -> bool:
    """The query of a collector without one."""
    return True


def query_all(one: Query, other: Query) -> Query:
    return lambda resource: one(resource) and other(resource)


def query_any(one: Query, other: Query) -> Query:
    return lambda resource: one(resource) or other(resource)


def compare_parameter(run: "Run", name: str, value: Any, wanted: bool) -> Query:
    """`name == value`: an array has the value if an element equals it, and `tag` asks for a tag. `!=` compares the parameter as it is."""

    def query(resource: Resource) -> bool:
        found = resource.title if name == "title" else run.concrete(resource.value(name))
        if not wanted:
            return not equals(found, value)
        if name == "tag":
            return str(value).lower() in resource.all_tags()
        if isinstance(found, tuple) and not isinstance(value, tuple):
            return any(equals(item, value) for item in found)
        return equals(found, value)

    return query


class Collector(Rich):
    """One collector with what it has found so far. As a value it can only stand beside an arrow."""

    __slots__ = ("exported", "found", "overrides", "query", "scope", "source", "span", "type_name")

    def __init__(
        self,
        type_name: str,
        query: Query,
        exported: bool,
        overrides: dict[str, tuple[str, Any, bool]],
        scope: Scope,
        source: Source,
        span: Span,
    ) -> None:
        self.type_name = type_name
        self.query = query
        self.exported = exported
        self.overrides = overrides
        self.scope = scope
        self.source = source
        self.span = span
        self.found: dict[str, Resource] = {}

    def __str__(self) -> str:
        return f"{capitalized(self.type_name)} <| |>"

    def collect(self, catalog: "Catalog") -> bool:
        """Takes what is new; whether there was any. Exports of other nodes are not known here, and so none are taken."""
        if self.exported:
            return False
        try:
            fresh = [
                each for each in catalog.of_type(self.type_name) if each.ref not in self.found and self.query(each)
            ]
        except PrecastError as error:
            raise place(error, self.source, self.span) from None
        for resource in fresh:
            self.found[resource.ref] = resource
            resource.virtual = False
            if self.overrides:
                merge(
                    catalog.run, resource, list(self.overrides.values()), self.scope.frame, self.source, self.span, True
                )
                catalog.apply_defaults(resource, self.scope.frame)
        return bool(fresh)


class Realization:
    """What `realize` asked for and is not there yet."""

    __slots__ = ("source", "span", "wanted")

    def __init__(self, wanted: dict[str, None], source: Source | None, span: Span | None) -> None:
        self.wanted = wanted
        self.source = source
        self.span = span

    def collect(self, catalog: "Catalog") -> bool:
        found = [ref for ref in self.wanted if ref in catalog.resources]
        for ref in found:
            catalog.resources[ref].virtual = False
            del self.wanted[ref]
        return bool(found)
