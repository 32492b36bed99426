"""How a catalog differs from another: resources that come, go or change on the node, and what is refreshed when they do.

Values are compared as they are, also those that are not known yet. What is sensitive is never told, only that it differs.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from precast.base import canonical
from precast.catalog.body import Body, ResourceData

HIDDEN = "(sensitive)"
# What does something when a resource it listens to has changed.
_REFRESHED = ("Service", "Exec")
_CONTAINERS = ("Class", "Stage")
_NOTIFYING = ("notify", "subscribe")


class ParameterChange(msgspec.Struct, frozen=True):
    """A parameter with two values; absent where there is none."""

    name: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class ResourceChange(msgspec.Struct, frozen=True):
    """What happens to one resource."""

    ref: str
    kind: Literal["added", "removed", "changed"]
    parameters: tuple[ParameterChange, ...] = ()


class CatalogDiff(msgspec.Struct, frozen=True):
    """All changes, in the order of the new catalog and then of the old; and the services and commands they refresh."""

    changes: tuple[ResourceChange, ...]
    refreshed: tuple[str, ...]


def differ(before: Body | None, after: Body) -> CatalogDiff:
    """From one catalog to the next; everything is new if there is none before."""
    olds = {one.ref: one for one in _touching(before)} if before else {}
    changes: list[ResourceChange] = []
    for new in _touching(after):
        old = olds.pop(new.ref, None)
        if old is None:
            changes.append(ResourceChange(new.ref, "added", _parameters(None, new)))
        elif old != new and (parameters := _parameters(old, new)):
            changes.append(ResourceChange(new.ref, "changed", parameters))
    changes += [ResourceChange(ref, "removed") for ref in olds]
    return CatalogDiff(tuple(changes), _refreshed(after, [one.ref for one in changes]))


def _touching(body: Body) -> Iterable[ResourceData]:
    """The resources that touch a node: what only contains others changes nothing by itself."""
    containers = {edge.source for edge in body.edges}
    return (one for one in body.resources if one.ref not in containers and one.type not in _CONTAINERS)


def _parameters(old: ResourceData | None, new: ResourceData) -> tuple[ParameterChange, ...]:
    befores = {} if old is None else old.parameters
    secret = {*new.sensitive_parameters, *(() if old is None else old.sensitive_parameters)}
    found = []
    for name in sorted({*befores, *new.parameters}):
        before, after = befores.get(name, msgspec.UNSET), new.parameters.get(name, msgspec.UNSET)
        if _same(before, after):
            continue
        if name in secret:
            before, after = (value if value is msgspec.UNSET else HIDDEN for value in (before, after))
        found.append(ParameterChange(name, before, after))
    return tuple(found)


def _same(before: Any, after: Any) -> bool:
    if before is msgspec.UNSET or after is msgspec.UNSET:
        return before is after
    return canonical.encode(before) == canonical.encode(after)


def _refreshed(body: Body, changed: Sequence[str]) -> tuple[str, ...]:
    """Who hears of a change: what a changed resource, or a container of it, notifies, and all inside of that."""
    containers: dict[str, list[str]] = {}
    contents: dict[str, list[str]] = {}
    for edge in body.edges:
        containers.setdefault(edge.target, []).append(edge.source)
        contents.setdefault(edge.source, []).append(edge.target)
    listeners: dict[str, list[str]] = {}
    for source, target in _notifications(body):
        listeners.setdefault(source, []).append(target)
    heard: dict[str, None] = {}
    for ref in changed:
        for place in _reach(ref, containers):
            for listener in listeners.get(place, ()):
                heard.update(dict.fromkeys(_reach(listener, contents)))
    return tuple(ref for ref in heard if ref.partition("[")[0] in _REFRESHED)


def _notifications(body: Body) -> Iterable[tuple[str, str]]:
    for resource in body.resources:
        for name in _NOTIFYING:
            given = resource.parameters.get(name, ())
            for other in given if isinstance(given, list | tuple) else (given,):
                if isinstance(other, str):
                    yield (resource.ref, other) if name == "notify" else (other, resource.ref)


def _reach(start: str, steps: dict[str, list[str]]) -> list[str]:
    found, waiting = {start: None}, [start]
    while waiting:
        for other in steps.get(waiting.pop(), ()):
            if other not in found:
                found[other] = None
                waiting.append(other)
    return list(found)
