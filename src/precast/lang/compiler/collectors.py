"""Collectors: `File <| … |>`, `File <<| … |>>` and `realize`, which realize virtual resources and may override their parameters.

A collector stays until the compile ends, because matching resources may be declared later. It overrides each resource once.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang.compiler.overrides import merge
from precast.lang.compiler.resources import Resource, capitalized
from precast.lang.evaluator.translation import place
from precast.lang.scope import Scope
from precast.lang.values.base import Rich, equals

if TYPE_CHECKING:
    from precast.lang.compiler.catalog import Catalog
    from precast.lang.compiler.compilation import Compilation

Query = Callable[[Resource], bool]


def collect_all(resource: Resource) -> bool:
    """The query of a collector that has no query of its own: it matches everything."""
    return True


def query_all(left: Query, right: Query) -> Query:
    return lambda resource: left(resource) and right(resource)


def query_any(left: Query, right: Query) -> Query:
    return lambda resource: left(resource) or right(resource)


def compare_parameter(compilation: "Compilation", name: str, value: Any, must_equal: bool) -> Query:
    """`name == value`: an array matches if an element equals the value; `tag` matches tags. `!=` compares the parameter itself."""

    def query(resource: Resource) -> bool:
        actual = resource.title if name == "title" else compilation.concrete(resource.value(name))
        if not must_equal:
            return not equals(actual, value)
        if name == "tag":
            return str(value).lower() in resource.all_tags()
        if isinstance(actual, tuple) and not isinstance(value, tuple):
            return any(equals(item, value) for item in actual)
        return equals(actual, value)

    return query


class Collector(Rich):
    """A collector and the resources it has matched so far. As a value it can only be an operand of an arrow."""

    __slots__ = ("exported", "matched", "overrides", "query", "scope", "source", "span", "type_name")

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
        self.matched: dict[str, Resource] = {}

    def __str__(self) -> str:
        return f"{capitalized(self.type_name)} <| |>"

    def collect(self, catalog: "Catalog") -> bool:
        """Realize new matches, and say whether there were any. Exports of other nodes are not known here, so none are collected."""
        if self.exported:
            return False
        try:
            fresh = [
                resource
                for resource in catalog.of_type(self.type_name)
                if resource.ref not in self.matched and self.query(resource)
            ]
        except PrecastError as error:
            raise place(error, self.source, self.span) from None
        for resource in fresh:
            self.matched[resource.ref] = resource
            resource.virtual = False
            if self.overrides:
                merge(
                    catalog.compilation,
                    resource,
                    list(self.overrides.values()),
                    self.scope.frame,
                    self.source,
                    self.span,
                    True,
                )
                catalog.apply_defaults(resource, self.scope.frame)
        return bool(fresh)


class Realization:
    """The references that `realize` named and that are not declared yet."""

    __slots__ = ("source", "span", "wanted")

    def __init__(self, wanted: dict[str, None], source: Source | None, span: Span | None) -> None:
        self.wanted = wanted
        self.source = source
        self.span = span

    def collect(self, catalog: "Catalog") -> bool:
        declared = [ref for ref in self.wanted if ref in catalog.resources]
        for ref in declared:
            catalog.resources[ref].virtual = False
            del self.wanted[ref]
        return bool(declared)
