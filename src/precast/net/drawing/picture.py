"""The content of a drawing of a net: nodes and links, without positions.

A drawing is for people, so it shows the declarations. A need is one arrow from step to step, and a held limit is a tag on the work that
holds it; the places that steps consist of are not shown. Everything else is drawn as usual for nets: circles for places, boxes for
transitions.
"""

from collections.abc import Iterator
from typing import NamedTuple

from precast.net.model.declarations import NetDeclaration, Transition
from precast.net.model.durations import format_duration


class PictureNode(NamedTuple):
    """A box (`step`, `transition`) or a circle (`place`, `limit`)."""

    kind: str
    name: str
    detail: str
    tags: tuple[str, ...] = ()


class PictureLink(NamedTuple):
    """An arrow between two nodes, by index: `need`, `arc`, `read`, `failure` or `skip`."""

    kind: str
    source: int
    target: int
    weight: int = 1


class Picture(NamedTuple):
    """All nodes and links of a drawing."""

    name: str
    nodes: tuple[PictureNode, ...]
    links: tuple[PictureLink, ...]


def make_picture(declared: NetDeclaration) -> Picture:
    """Make the picture of a net."""
    arcs = {name for transition in declared.transitions for name in _places(transition)}
    shown = [place for place in declared.places if place.name in arcs or not place.is_limit]
    places = {place.name: n for n, place in enumerate(shown)}
    works = {transition.name: n for n, transition in enumerate(declared.transitions, len(shown))}
    nodes = [
        PictureNode("limit" if place.is_limit else "place", place.name, _tokens(place.tokens, place.capacity))
        for place in shown
    ]
    nodes += [_work(transition) for transition in declared.transitions]
    links = [link for transition in declared.transitions for link in _links(transition, places, works)]
    return Picture(declared.name, tuple(nodes), tuple(links))


def _tokens(tokens: int, capacity: int | None) -> str:
    return str(tokens or "") if capacity is None else f"{tokens}/{capacity}"


def _places(transition: Transition) -> Iterator[str]:
    for arcs in (transition.takes, transition.reads, transition.gives, transition.on_failure, transition.on_skip):
        yield from (name for name, _ in arcs or ())


def _work(transition: Transition) -> PictureNode:
    kind = "step" if transition.is_step else "transition"
    duration = format_duration(transition.duration_ms) if transition.duration_ms else ""
    tags = tuple(f"{weight}× {name}" if weight > 1 else name for name, weight in transition.holds)
    return PictureNode(kind, transition.name, duration, tags)


def _links(transition: Transition, places: dict[str, int], works: dict[str, int]) -> Iterator[PictureLink]:
    own = works[transition.name]
    yield from (PictureLink("need", works[name], own) for name in transition.needs)
    yield from (PictureLink("arc", places[name], own, weight) for name, weight in transition.takes)
    yield from (PictureLink("read", places[name], own, weight) for name, weight in transition.reads)
    yield from (PictureLink("arc", own, places[name], weight) for name, weight in transition.gives)
    yield from (PictureLink("failure", own, places[name], weight) for name, weight in transition.on_failure or ())
    yield from (PictureLink("skip", own, places[name], weight) for name, weight in transition.on_skip or ())
