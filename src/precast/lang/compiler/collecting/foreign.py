"""Adds resources that other nodes export to the catalog of the node that collects them.

A collected resource is declared where the collector stands: it is contained there, and has the resource defaults of that place. As with
PuppetDB it has the parameters of the exporter, but of its tags only those that are a parameter. A second collector does not collect it
again: neither its overrides nor an arrow with it concern the resource.
"""

from typing import TYPE_CHECKING, Any

from precast.base.spans import Source, Span
from precast.catalog.exports import ExportedResource
from precast.lang.compiler.resources import Parameter, Resource, capitalized
from precast.lang.inputs import ExportedQuery
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.values.catalog_data import value_of
from precast.lang.values.unknowns import has_unknown

if TYPE_CHECKING:
    from precast.lang.compiler.catalog import Catalog


def collect_foreign(
    catalog: "Catalog", type_name: str, query: Any, scope: Scope, source: Source, span: Span
) -> list[Resource]:
    """The newly added resources of other nodes. Raises LANG-781 for a title that this node or a third one also has."""
    fresh = []
    for export in catalog.compilation.inputs.exports(ExportedQuery(capitalized(type_name), query)):
        resource = Resource(type_name, export.title, scope.frame, source=source, span=span, exporter=export.node)
        present = catalog.find(resource.ref)
        if present is None:
            _add(catalog, resource, export)
            fresh.append(resource)
        elif present.exporter != export.node:
            first = f"{present.exporter} exports it" if present.exporter else f"it is declared at {present.place()}"
            raise issues.EXPORTED_TWICE.error(ref=resource.ref, first=first, second=f"{export.node} exports it")
    return fresh


def _add(catalog: "Catalog", resource: Resource, export: ExportedResource) -> None:
    assert resource.frame is not None, "it has the frame of the collector"
    compilation = catalog.compilation
    values = [(name, value_of(data), False) for name, data in sorted(export.parameters.items())]
    if not compilation.has_unknowns:
        compilation.has_unknowns = any(has_unknown(value) for _, value, _ in values)
    for name, value, _ in catalog.concrete_attributes(resource.type_name, values):
        resource.set(name, Parameter(value, resource.frame))
    catalog.declare_resource(resource)
