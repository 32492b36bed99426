"""What a drawing of a net shows: nodes and links, before anyone decides where they stand.

A drawing is for people, so it shows what was declared. A need is one arrow from step to step, and what is held is a tag on the work that
holds it; the places that steps are made of stay out. Everything else is drawn as nets are: circles for places, boxes for transitions.
"""

from collections.abc import Iterator
from typing import NamedTuple

from precast.net.model.declarations import Declared, Transition
from precast.net.model.durations import format_duration


class Node(NamedTuple):
    """A box (`step`, `transition`) or a circle (`place`, `limit`)."""

    kind: str
    name: str
    detail: str
    tags: tuple[str, ...] = ()


class Link(NamedTuple):
    """An arrow between two nodes, by index: `need`, `arc`, `read`, `failure` or `skip`."""

    kind: str
    source: int
    target: int
    weight: int = 1


class Picture(NamedTuple):
    """All that is drawn."""

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]


def picture_of(declared: Declared) -> Picture:
    """The picture of a net."""
    arcs = {name for transition in declared.transitions for name in _places(transition)}
    shown = [place for place in declared.places if place.name in arcs or not place.is_limit]
    places = {place.name: n for n, place in enumerate(shown)}
    works = {transition.name: n for n, transition in enumerate(declared.transitions, len(shown))}
    nodes = [
        Node("limit" if place.is_limit else "place", place.name, _tokens(place.tokens, place.capacity))
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


def _work(transition: Transition) -> Node:
    kind = "step" if transition.is_step else "transition"
    duration = format_duration(transition.duration_ms) if transition.duration_ms else ""
    tags = tuple(f"{weight}× {name}" if weight > 1 else name for name, weight in transition.holds)
    return Node(kind, transition.name, duration, tags)


def _links(transition: Transition, places: dict[str, int], works: dict[str, int]) -> Iterator[Link]:
    own = works[transition.name]
    yield from (Link("need", works[name], own) for name in transition.needs)
    yield from (Link("arc", places[name], own, weight) for name, weight in transition.takes)
    yield from (Link("read", places[name], own, weight) for name, weight in transition.reads)
    yield from (Link("arc", own, places[name], weight) for name, weight in transition.gives)
    yield from (Link("failure", own, places[name], weight) for name, weight in transition.on_failure or ())
    yield from (Link("skip", own, places[name], weight) for name, weight in transition.on_skip or ())
