"""Arrows between resources, applied when everything is declared: a collector stands for what it has found by then."""

from typing import TYPE_CHECKING, Any

from precast.base.spans import Source, Span
from precast.lang import datatypes, issues_compiler as issues
from precast.lang.compiler.collectors import Collector
from precast.lang.compiler.resources import Parameter, Resource, reference

if TYPE_CHECKING:
    from precast.lang.compiler.catalog import Catalog


class Relation:
    """`first` before (or notifying) `second`: references and collectors."""

    __slots__ = ("first", "kind", "second", "source", "span")

    def __init__(self, first: tuple[Any, ...], second: tuple[Any, ...], kind: str, source: Source, span: Span) -> None:
        self.first = first
        self.second = second
        self.kind = kind
        self.source = source
        self.span = span

    def apply(self, catalog: "Catalog") -> None:
        """Adds each second to the parameter of each first. Raises where one is not in the catalog."""
        seconds = [ref for operand in self.second for ref in _refs(operand)]
        for operand in self.first:
            for ref in _refs(operand):
                for other in seconds:
                    self._relate(catalog, ref, other)

    def _relate(self, catalog: "Catalog", ref: str, other: str) -> None:
        first = catalog.find(ref)
        if first is None:
            raise issues.RELATION_SOURCE_MISSING.error(self.source, self.span, missing=ref, other=other)
        second = catalog.find(other)
        if second is None:
            raise issues.RELATION_TARGET_MISSING.error(self.source, self.span, missing=other, other=ref)
        present = first.value(self.kind)
        before = () if present is None else present if isinstance(present, tuple) else (present,)
        target = _as_type(second)
        if first.frame is not None and target not in before:
            first.set(self.kind, Parameter((*before, target), first.frame))


def _as_type(resource: Resource) -> datatypes.Type:
    if resource.is_class:
        return datatypes.ClassType(resource.title)
    return datatypes.ResourceType(resource.type_name, resource.title)


def _refs(operand: Any) -> list[str]:
    return list(operand.found) if isinstance(operand, Collector) else [ref_of(operand)]


def ref_of(value: Any) -> str:
    """A reference as the catalog writes it."""
    if isinstance(value, datatypes.ClassType):
        return reference("class", (value.class_name or "").removeprefix("::").lower())
    name = (value.type_name or "").lower()
    title = value.title or ""
    return reference(name, title.removeprefix("::").lower() if name == "class" else title)
