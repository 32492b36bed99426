"""The envelope: it turns a body into a catalog as Puppet's agents and tools expect it, when a node fetches it.

Everything that the body does not determine is added here, so that the stored bytes never contain a name or a time.
"""

import uuid
from typing import Any

from precast.base import digests
from precast.catalog.body import Body
from precast.catalog.source_map import SourceMap

CATALOG_FORMAT = 2  # values that JSON lacks are rich data
# Never changes: the uuid of a catalog is derived from its digest in this namespace.
_NAMESPACE = uuid.UUID("6d5c3c2e-9c0b-5d0e-8f53-4f0a7e1c9b57")


def seal(
    body: Body,
    digest: digests.Digest,
    *,
    name: str,
    environment: str,
    code_id: str | None,
    places: SourceMap | None = None,
) -> dict[str, Any]:
    """The whole catalog as plain data: envelope and body, with file and line of each resource if the source map is given."""
    return {
        "name": name,
        "version": digest,
        "environment": environment,
        "code_id": code_id,
        "catalog_uuid": str(uuid.uuid5(_NAMESPACE, digest)),
        "catalog_format": CATALOG_FORMAT,
        "tags": list(body.tags),
        "classes": list(body.classes),
        "edges": [{"source": edge.source, "target": edge.target} for edge in body.edges],
        "resources": [_resource(resource, places) for resource in body.resources],
        "content": dict(body.content),
        **({"types": body.types} if body.types else {}),
    }


def _resource(resource: Any, places: SourceMap | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "type": resource.type,
        "title": resource.title,
        "tags": list(resource.tags),
        "exported": resource.exported,
        "parameters": resource.parameters,
    }
    if resource.virtual:
        data["virtual"] = True
    if resource.sensitive_parameters:
        data["sensitive_parameters"] = list(resource.sensitive_parameters)
    if resource.kind:
        data["kind"] = resource.kind
    location = places.places.get(resource.ref) if places is not None else None
    if location is not None:
        data["file"], data["line"] = location.file, location.line
    return data
