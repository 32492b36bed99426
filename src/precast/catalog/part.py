"""A part of a catalog, which a task of a plan applies: the resources with a tag, of a stage, or inside a class.

The part keeps the containers of its resources, so that a relationship with a class still holds for what is left of that class. A
relationship with a resource outside the part is dropped, and named: whoever orders parts one after the other has to know which order is
now theirs to keep. Automatic relationships are made from the resources of the part, so none of them leads out of it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from precast.catalog.body import Body, ResourceData
from precast.catalog.order import RELATIONS, relations

Resolve = Callable[[str], str]


class PartSelection(NamedTuple):
    """What is in a part: each resource that any of these names. Without a name, the whole catalog is."""

    tags: Collection[str] = ()
    classes: Collection[str] = ()
    stages: Collection[str] = ()

    def __str__(self) -> str:
        named = (("tag", self.tags), ("class", self.classes), ("stage", self.stages))
        return ", ".join(f"{kind} {name}" for kind, names in named for name in names) or "the whole catalog"


class DroppedRelation(NamedTuple):
    """A relationship of which one side is outside the part."""

    before: str
    after: str
    refreshes: bool

    def __str__(self) -> str:
        return f"{self.before} {'~>' if self.refreshes else '->'} {self.after}"


class CatalogPart(NamedTuple):
    """A part as a catalog of its own. It has the contents of the whole."""

    body: Body
    dropped: tuple[DroppedRelation, ...]


def take_part(body: Body, selection: PartSelection, resolve: Resolve = lambda ref: ref) -> CatalogPart:
    """Reduce a catalog to a part. `resolve` finds the reference of a resource by another of its names, and raises if there is none."""
    if not any(selection):
        return CatalogPart(body, ())
    refs = {resource.ref for resource in body.resources}
    kept = _with_containers(_choose(body, selection), body)

    def is_kept(ref: str) -> bool:
        return (ref if ref in refs else resolve(ref)) in kept

    dropped = dict.fromkeys(
        DroppedRelation(*relation) for relation in relations(body) if is_kept(relation[0]) != is_kept(relation[1])
    )
    resources = tuple(_relate_within(resource, is_kept) for resource in body.resources if resource.ref in kept)
    edges = tuple(edge for edge in body.edges if edge.source in kept and edge.target in kept)
    return CatalogPart(msgspec.structs.replace(body, resources=resources, edges=edges), tuple(dropped))


def _choose(body: Body, selection: PartSelection) -> set[str]:
    """The resources that the selection names, and all that the classes and stages that it names contain."""
    tags = {tag.lower() for tag in selection.tags}
    classes = {name.lower().removeprefix("::") for name in selection.classes}
    stages = set(selection.stages)
    roots = {
        resource.ref
        for resource in body.resources
        if (resource.type == "Class" and resource.title.lower().removeprefix("::") in classes)
        or (resource.type == "Stage" and resource.title in stages)
    }
    contained = _reach(roots, ((edge.source, edge.target) for edge in body.edges))
    return contained | {resource.ref for resource in body.resources if not tags.isdisjoint(resource.tags)}


def _with_containers(chosen: set[str], body: Body) -> set[str]:
    return _reach(chosen, ((edge.target, edge.source) for edge in body.edges))


def _reach(start: Iterable[str], arcs: Iterator[tuple[str, str]]) -> set[str]:
    """What the arcs lead to from the start, with the start."""
    following: dict[str, list[str]] = {}
    for source, target in arcs:
        following.setdefault(source, []).append(target)
    reached = set(start)
    waiting = list(reached)
    while waiting:
        unseen = [ref for ref in following.get(waiting.pop(), ()) if ref not in reached]
        reached.update(unseen)
        waiting += unseen
    return reached


def _relate_within(resource: ResourceData, is_kept: Callable[[str], bool]) -> ResourceData:
    """The resource without its relationships that lead out of the part."""
    if RELATIONS.keys().isdisjoint(resource.parameters):
        return resource
    parameters: dict[str, Any] = {}
    for name, value in resource.parameters.items():
        if name not in RELATIONS or value is None:
            parameters[name] = value
        elif isinstance(value, list | tuple):
            if left := [ref for ref in value if is_kept(ref)]:
                parameters[name] = left
        elif is_kept(value):
            parameters[name] = value
    return msgspec.structs.replace(resource, parameters=parameters)
