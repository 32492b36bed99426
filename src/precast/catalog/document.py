"""Reads a whole catalog from JSON, ours or Puppet's. Both have the same structure; a part that one of them lacks is empty."""

from typing import Any, NamedTuple

import msgspec

from precast.catalog import issues
from precast.catalog.body import Body, Edge, ResourceData
from precast.catalog.source_map import SourceLocation, SourceMap


class _Resource(msgspec.Struct):
    type: str
    title: str
    parameters: dict[str, Any] = {}
    tags: list[str] = []
    exported: bool = False
    virtual: bool = False
    sensitive_parameters: list[str] = []
    kind: str = ""
    file: str | None = None
    line: int | None = None


class _Catalog(msgspec.Struct):
    resources: list[_Resource]
    edges: list[Edge] = []
    classes: list[str] = []
    tags: list[str] = []
    content: dict[str, str] = {}
    types: dict[str, Any] = {}
    name: str = ""
    version: str | int | float = ""
    environment: str = ""


class CatalogDocument(NamedTuple):
    """A catalog without its envelope."""

    body: Body
    places: SourceMap
    name: str
    version: str
    environment: str


def unseal(data: bytes, path: str) -> CatalogDocument:
    """Read the catalog in a document. Raises InputError CATALOG-003."""
    try:
        catalog = msgspec.json.decode(data, type=_Catalog)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise issues.NOT_A_CATALOG.error(path=path, reason=error) from None
    resources = tuple(
        ResourceData(
            resource.type,
            resource.title,
            {name: value for name, value in resource.parameters.items() if value is not None},
            tuple(resource.tags),
            resource.exported,
            resource.virtual,
            tuple(resource.sensitive_parameters),
            resource.kind,
        )
        for resource in catalog.resources
    )
    places = {
        f"{resource.type}[{resource.title}]": SourceLocation(resource.file, resource.line)
        for resource in catalog.resources
        if resource.file is not None and resource.line is not None
    }
    body = Body(
        resources, tuple(catalog.edges), tuple(catalog.classes), tuple(catalog.tags), catalog.content, catalog.types
    )
    return CatalogDocument(body, SourceMap(places), catalog.name, str(catalog.version), catalog.environment)
