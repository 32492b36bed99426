"""Collectors: `File <| … |>`, `File <<| … |>>` and `realize`, which realize virtual resources and may override their parameters.

A collector stays until the compile ends, because matching resources may be declared later. It overrides each resource once. A collector
of exports realizes what this node exports, from this compile, and adds what other nodes export.
"""

from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang.compiler.collecting.foreign import collect_foreign
from precast.lang.compiler.collecting.queries import Query
from precast.lang.compiler.overrides import merge
from precast.lang.compiler.resources import Resource, capitalized
from precast.lang.evaluator.translation import place
from precast.lang.scope import Scope
from precast.lang.values.base import Rich

if TYPE_CHECKING:
    from precast.lang.compiler.catalog import Catalog


class Collector(Rich):
    """A collector and the resources it has matched so far. As a value it can only be an operand of an arrow."""

    __slots__ = ("exported", "has_asked", "matched", "overrides", "query", "scope", "source", "span", "type_name")

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
        self.has_asked = False
        self.overrides = overrides
        self.scope = scope
        self.source = source
        self.span = span
        self.matched: dict[str, Resource] = {}

    def __str__(self) -> str:
        return f"{capitalized(self.type_name)} <| |>"

    def collect(self, catalog: "Catalog") -> bool:
        """Realize new matches, and say whether there were any. As in Puppet, exports are only collected with storeconfigs."""
        if self.exported and not catalog.compilation.settings.storeconfigs:
            return False
        try:
            fresh = self._matching(catalog)
            if self.exported and not self.has_asked:
                # What other nodes export does not change during a compile.
                self.has_asked = True
                query = self.query.data()
                fresh += collect_foreign(catalog, self.type_name, query, self.scope, self.source, self.span)
        except PrecastError as error:
            raise place(error, self.source, self.span) from None
        for resource in fresh:
            self.matched[resource.ref] = resource
            resource.virtual = False
            if self.overrides:
                self._override(catalog, resource)
        return bool(fresh)

    def _matching(self, catalog: "Catalog") -> list[Resource]:
        """Resources of this catalog that match for the first time. A collector of exports finds those that this node exports."""
        return [
            resource
            for resource in catalog.of_type(self.type_name)
            if resource.ref not in self.matched
            and (resource.exported or not self.exported)
            and self.query.matches(resource)
        ]

    def _override(self, catalog: "Catalog", resource: Resource) -> None:
        overrides = list(self.overrides.values())
        merge(catalog.compilation, resource, overrides, self.scope.frame, self.source, self.span, True)
        catalog.apply_defaults(resource, self.scope.frame)


class Realization:
    """The references that `realize` named and that are not declared yet."""

    __slots__ = ("source", "span", "wanted")

    def __init__(self, wanted: dict[str, None], source: Source | None, span: Span | None) -> None:
        self.wanted = wanted
        self.source = source
        self.span = span

    def collect(self, catalog: "Catalog") -> bool:
        declared = {ref: resource for ref in self.wanted if (resource := catalog.find(ref)) is not None}
        for ref, resource in declared.items():
            resource.virtual = False
            del self.wanted[ref]
        return bool(declared)
