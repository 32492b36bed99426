"""The body of a catalog: the part that its digest covers.

It has Puppet's structure: resources with their parameters and tags, containment edges, classes. Values that Puppet lacks are inside
parameter values, as objects with `__ptype`. Names, times and source locations are not part of it: two compiles with the same desired state
give the same bytes. `content` pins every file that a resource takes from the environment, and the plug-ins of its modules. `types` has what
a node must know of types whose behaviour follows from their modules' Ruby files; `types.config_files` defines it.
"""

from typing import Any

import msgspec

from precast.base import canonical, digests

DEFINED = "defined_type"
# The name of a module's plug-in in `content` is this prefix and MODULE/facts|functions|types/FILE.
PLUGIN_SCHEME = "precast:///modules/"


class ResourceData(msgspec.Struct, frozen=True, omit_defaults=True):
    """One resource. Relationships are in its parameters, as references. `kind` marks a define, which only contains other resources.

    A node applies a resource that it exports only if it also collects or realizes it; else the resource is virtual.
    """

    type: str
    title: str
    parameters: dict[str, Any]
    tags: tuple[str, ...]
    exported: bool = False
    virtual: bool = False
    sensitive_parameters: tuple[str, ...] = ()
    kind: str = ""

    @property
    def ref(self) -> str:
        return f"{self.type}[{self.title}]"


class Edge(msgspec.Struct, frozen=True):
    """The source contains the target."""

    source: str
    target: str


class Body(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole catalog, without names and source locations."""

    resources: tuple[ResourceData, ...]
    edges: tuple[Edge, ...]
    classes: tuple[str, ...]
    tags: tuple[str, ...]
    content: dict[str, str]
    types: dict[str, Any] = {}

    def encoded(self) -> bytes:
        """The canonical bytes that are stored, sent and digested."""
        return canonical.encode(self)

    def digest(self) -> digests.Digest:
        return digests.of_bytes(self.encoded())


def decode(data: bytes) -> Body:
    """Decode a body from its bytes."""
    return msgspec.json.decode(data, type=Body)
