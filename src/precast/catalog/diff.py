"""The difference of two catalogs: the resources that are added, removed or changed, and those that the changes refresh.

Values are compared as they are in the catalog, also those that are not known yet. A parameter that is or contains a Sensitive is never
shown, only that it differs.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from precast.base import canonical
from precast.catalog.body import Body, ResourceData
from precast.catalog.sensitive import HIDDEN, sensitive_parameters

# The types that act when they are refreshed.
_REFRESHED = ("Service", "Exec")
_CONTAINERS = ("Class", "Stage")
_NOTIFYING = ("notify", "subscribe")


class ParameterChange(msgspec.Struct, frozen=True):
    """A parameter with its values before and after; unset where the parameter is missing."""

    name: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class ResourceChange(msgspec.Struct, frozen=True):
    """The change of one resource."""

    ref: str
    kind: Literal["added", "removed", "changed"]
    parameters: tuple[ParameterChange, ...] = ()


class CatalogDiff(msgspec.Struct, frozen=True):
    """All changes, in the order of the new catalog and then of the old; and the services and commands that they refresh."""

    changes: tuple[ResourceChange, ...]
    refreshed: tuple[str, ...]


def compare_catalogs(before: Body | None, after: Body) -> CatalogDiff:
    """The changes from one catalog to the next; without a catalog before, every resource is added."""
    olds = {resource.ref: resource for resource in _managed_resources(before)} if before else {}
    changes: list[ResourceChange] = []
    for new in _managed_resources(after):
        old = olds.pop(new.ref, None)
        if old is None:
            changes.append(ResourceChange(new.ref, "added", _parameters(None, new)))
        elif old != new and (parameters := _parameters(old, new)):
            changes.append(ResourceChange(new.ref, "changed", parameters))
    changes += [ResourceChange(ref, "removed") for ref in olds]
    return CatalogDiff(tuple(changes), _find_refreshed(after, [change.ref for change in changes]))


def _managed_resources(body: Body) -> Iterable[ResourceData]:
    """The resources that manage something on a node; a resource that only contains others changes nothing by itself."""
    containers = {edge.source for edge in body.edges}
    return (
        resource for resource in body.resources if resource.ref not in containers and resource.type not in _CONTAINERS
    )


def _parameters(old: ResourceData | None, new: ResourceData) -> tuple[ParameterChange, ...]:
    befores = {} if old is None else old.parameters
    secret = sensitive_parameters(new) | (frozenset() if old is None else sensitive_parameters(old))
    changes = []
    for name in sorted({*befores, *new.parameters}):
        before, after = befores.get(name, msgspec.UNSET), new.parameters.get(name, msgspec.UNSET)
        if _is_equal(before, after):
            continue
        if name in secret:
            before, after = (value if value is msgspec.UNSET else HIDDEN for value in (before, after))
        changes.append(ParameterChange(name, before, after))
    return tuple(changes)


def _is_equal(before: Any, after: Any) -> bool:
    if before is msgspec.UNSET or after is msgspec.UNSET:
        return before is after
    return canonical.encode(before) == canonical.encode(after)


def _find_refreshed(body: Body, changed: Sequence[str]) -> tuple[str, ...]:
    """The resources that a changed resource or one of its containers notifies, and everything that those contain."""
    containers: dict[str, list[str]] = {}
    contents: dict[str, list[str]] = {}
    for edge in body.edges:
        containers.setdefault(edge.target, []).append(edge.source)
        contents.setdefault(edge.source, []).append(edge.target)
    listeners: dict[str, list[str]] = {}
    for source, target in _notifications(body):
        listeners.setdefault(source, []).append(target)
    notified: dict[str, None] = {}
    for ref in changed:
        for container in _reach(ref, containers):
            for listener in listeners.get(container, ()):
                notified.update(dict.fromkeys(_reach(listener, contents)))
    return tuple(ref for ref in notified if ref.partition("[")[0] in _REFRESHED)


def _notifications(body: Body) -> Iterable[tuple[str, str]]:
    for resource in body.resources:
        for name in _NOTIFYING:
            given = resource.parameters.get(name, ())
            for ref in given if isinstance(given, list | tuple) else (given,):
                if isinstance(ref, str):
                    yield (resource.ref, ref) if name == "notify" else (ref, resource.ref)


def _reach(start: str, edges: dict[str, list[str]]) -> list[str]:
    """The start and everything that is reachable from it."""
    reached, waiting = {start: None}, [start]
    while waiting:
        for ref in edges.get(waiting.pop(), ()):
            if ref not in reached:
                reached[ref] = None
                waiting.append(ref)
    return list(reached)
