"""Reads a whole catalog from JSON: ours, or one that Puppet made. They have one structure; what either lacks is empty."""

from typing import Any, NamedTuple

import msgspec

from precast.catalog import issues
from precast.catalog.body import Body, Edge, ResourceData
from precast.catalog.source_map import Place, SourceMap


class _Resource(msgspec.Struct):
    type: str
    title: str
    parameters: dict[str, Any] = {}
    tags: list[str] = []
    exported: bool = False
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
    name: str = ""
    version: str | int | float = ""
    environment: str = ""


class Unsealed(NamedTuple):
    """A catalog out of its envelope."""

    body: Body
    places: SourceMap
    name: str
    version: str
    environment: str


def unseal(data: bytes, path: str) -> Unsealed:
    """The catalog in a document. Raises InputError CATALOG-003."""
    try:
        read = msgspec.json.decode(data, type=_Catalog)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise issues.NOT_A_CATALOG.error(path=path, reason=error) from None
    resources = tuple(
        ResourceData(
            each.type,
            each.title,
            {name: value for name, value in each.parameters.items() if value is not None},
            tuple(each.tags),
            each.exported,
            tuple(each.sensitive_parameters),
            each.kind,
        )
        for each in read.resources
    )
    places = {
        f"{each.type}[{each.title}]": Place(each.file, each.line)
        for each in read.resources
        if each.file is not None and each.line is not None
    }
    body = Body(resources, tuple(read.edges), tuple(read.classes), tuple(read.tags), read.content)
    return Unsealed(body, SourceMap(places), read.name, str(read.version), read.environment)
