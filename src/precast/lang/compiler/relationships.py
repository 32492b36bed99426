"""Arrows between resources, applied after everything is declared: a collector stands for the resources it has matched by then."""

from typing import TYPE_CHECKING, Any

from precast.base.spans import Source, Span
from precast.lang import datatypes
from precast.lang.compiler.collecting.collectors import Collector
from precast.lang.compiler.resources import Parameter, Resource, ref_of
from precast.lang.issues import compiler as issues

if TYPE_CHECKING:
    from precast.lang.compiler.catalog import Catalog


class Relationship:
    """`first` comes before (or notifies) `second`; both are references and collectors."""

    __slots__ = ("first", "kind", "second", "source", "span")

    def __init__(self, first: tuple[Any, ...], second: tuple[Any, ...], kind: str, source: Source, span: Span) -> None:
        self.first = first
        self.second = second
        self.kind = kind
        self.source = source
        self.span = span

    def apply(self, catalog: "Catalog", arrays: "SharedArrays") -> None:
        """Add each second operand to the metaparameter of each first. Raises if a resource is not in the catalog."""
        seconds = [target for operand in self.second for target in _targets(operand)]
        for operand in self.first:
            for ref, _ in _targets(operand):
                for other, target in seconds:
                    self._relate(catalog, arrays, ref, other, target)

    def _relate(self, catalog: "Catalog", arrays: "SharedArrays", ref: str, other: str, target: datatypes.Type) -> None:
        first = catalog.find(ref)
        if first is None:
            raise issues.RELATION_SOURCE_MISSING.error(self.source, self.span, missing=ref, other=other)
        if catalog.find(other) is None:
            raise issues.RELATION_TARGET_MISSING.error(self.source, self.span, missing=other, other=ref)
        present = first.value(self.kind)
        # An arrow written twice adds the target twice, as in Puppet.
        if isinstance(present, tuple) and present:
            arrays.add(present, target)
            return
        before = () if present is None or present == () else (present,)
        parameter = Parameter((*before, target), first.frame or catalog.compilation.top.frame)
        first.set(self.kind, parameter)
        arrays.hold(parameter)


class SharedArrays:
    """The arrays in parameters, by identity. Puppet adds the target of an arrow to the array itself, so that all that share it change.

    Two resources share an array that one expression gave both of them: the body of several titles, a variable, a resource default.
    """

    def __init__(self, catalog: "Catalog") -> None:
        self._holders: dict[int, list[Parameter]] = {}
        for resource in catalog.resources.values():
            for parameter in resource.parameters.values():
                if isinstance(parameter.value, tuple) and parameter.value:
                    self.hold(parameter)

    def hold(self, parameter: Parameter) -> None:
        """Note that a parameter holds its array."""
        holders = self._holders.setdefault(id(parameter.value), [])
        if not any(parameter is holder for holder in holders):
            holders.append(parameter)

    def add(self, array: tuple[Any, ...], target: Any) -> None:
        """Replace an array by one with a further item, in each parameter that holds it."""
        now = (*array, target)
        holders = self._holders.pop(id(array))
        for parameter in holders:
            parameter.value = now
        self._holders[id(now)] = holders


class ChainedCollector:
    """A collector in the middle of a chain: if it matches nothing, the operands on its left take its place."""

    __slots__ = ("collector", "left")

    def __init__(self, collector: Collector, left: tuple[Any, ...]) -> None:
        self.collector = collector
        self.left = left


def _targets(operand: Any) -> list[tuple[str, datatypes.Type]]:
    """The references an operand stands for, as text and as types."""
    if isinstance(operand, ChainedCollector):
        return _targets(operand.collector) or [target for left in operand.left for target in _targets(left)]
    if isinstance(operand, Collector):
        return [(ref, _as_type(resource)) for ref, resource in operand.matched.items()]
    return [(ref_of(operand), operand)]


def _as_type(resource: Resource) -> datatypes.Type:
    return datatypes.ResourceType(resource.type_name, resource.title)
