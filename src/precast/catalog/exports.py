"""The resources that a catalog exports for other nodes, in the form in which they are stored, sent to a compile and compared.

The answer to a collector's question is the digest of the ordered list. File and line are not part of it: a comment in the code of an
exporter must not compile the catalogs of its collectors again.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from precast.base import canonical, digests
from precast.catalog.body import Body, ResourceData
from precast.catalog.sensitive import TYPE as SENSITIVE
from precast.catalog.source_map import SourceMap


class ExportedResource(msgspec.Struct, frozen=True, omit_defaults=True):
    """A resource that a node exports. A parameter that is Sensitive as a whole is an object with `__ptype`, like a nested one."""

    node: str
    type: str
    title: str
    parameters: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None

    @property
    def ref(self) -> str:
        return f"{self.type}[{self.title}]"


def exports_of(node: str, body: Body, places: SourceMap | None = None) -> list[ExportedResource]:
    """What the catalog of a node exports, also what the node collects itself."""
    return sort_exports(_export(node, resource, places) for resource in body.resources if resource.exported)


def sort_exports(exports: Iterable[ExportedResource]) -> list[ExportedResource]:
    """The order of every list of exports."""
    return sorted(exports, key=lambda export: (export.type, export.title, export.node))


def encode_exports(exports: Iterable[ExportedResource]) -> bytes:
    """The list as canonical JSON, in its order."""
    return canonical.encode(sort_exports(exports))


def digest_exports(exports: Iterable[ExportedResource]) -> digests.Digest:
    """The digest that answers a collector's question."""
    return digests.of_bytes(encode_exports(msgspec.structs.replace(export, file=None, line=None) for export in exports))


_decoder = msgspec.json.Decoder(list[ExportedResource])


def decode_exports(data: bytes) -> list[ExportedResource]:
    """Raises ValueError."""
    return _decoder.decode(data)


def _export(node: str, resource: ResourceData, places: SourceMap | None) -> ExportedResource:
    place = places.places.get(resource.ref) if places is not None else None
    hidden = resource.sensitive_parameters
    parameters = {
        name: {"__ptype": SENSITIVE, "__pvalue": value} if name in hidden else value
        for name, value in resource.parameters.items()
    }
    file, line = (None, None) if place is None else (place.file, place.line)
    return ExportedResource(node, resource.type, resource.title, parameters, resource.tags, file, line)
