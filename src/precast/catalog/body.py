"""The body of a catalog: what its digest covers.

It has Puppet's structure: resources with their parameters and tags, containment edges, classes. What Puppet lacks stands inside
parameter values, as objects with `__ptype`. Names, times and places of code are no part of it: two compiles that want the same
of a node give the same bytes. `content` pins every file that a resource takes from the environment, and the plug-ins of its modules.
"""

from typing import Any

import msgspec

from precast.base import canonical, digests

DEFINED = "defined_type"
# What a plug-in of a module is called in `content`: this, and MODULE/facts|functions|types/FILE.
PLUGIN_SCHEME = "precast:///modules/"


class ResourceData(msgspec.Struct, frozen=True, omit_defaults=True):
    """One resource. Relationships are in its parameters, as references. `kind` tells a define, which only holds others, from a type."""

    type: str
    title: str
    parameters: dict[str, Any]
    tags: tuple[str, ...]
    exported: bool = False
    sensitive_parameters: tuple[str, ...] = ()
    kind: str = ""

    @property
    def ref(self) -> str:
        return f"{self.type}[{self.title}]"


class Edge(msgspec.Struct, frozen=True):
    """The source contains the target."""

    source: str
    target: str


class Body(msgspec.Struct, frozen=True):
    """A whole catalog, without name and place."""

    resources: tuple[ResourceData, ...]
    edges: tuple[Edge, ...]
    classes: tuple[str, ...]
    tags: tuple[str, ...]
    content: dict[str, str]

    def encoded(self) -> bytes:
        """The canonical bytes: what is stored, sent and digested."""
        return canonical.encode(self)

    def digest(self) -> digests.Digest:
        return digests.of_bytes(self.encoded())


def decode(data: bytes) -> Body:
    """A body from its bytes."""
    return msgspec.json.decode(data, type=Body)
