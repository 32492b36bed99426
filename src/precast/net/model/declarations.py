"""What a net is made of, as its author says it: names, not numbers.

A declared net is a plain value. Two nets are equal when their declarations are; the text notation, PNML and the drawing are all made from
them, and `compiling` turns them into the integer-indexed `Net` that runs. Names are the user's own words (`File[/etc/ntp.conf]`) and are
what every message shows.
"""

import enum
from typing import NamedTuple

# Places with the number of tokens that an arc moves or tests.
Arcs = tuple[tuple[str, int], ...]


class Outcome(enum.IntEnum):
    """How a transition ended. The number is the index of its output arcs."""

    SUCCESS = 0
    FAILURE = 1
    SKIPPED = 2


class Place(NamedTuple):
    """Somewhere tokens wait. A limit is a place whose tokens are slots: they are held for a while and given back."""

    name: str
    tokens: int = 0
    capacity: int | None = None
    is_limit: bool = False


class Transition(NamedTuple):
    """A piece of work. A step is a transition that ends exactly once, after everything it needs.

    `holds` are taken at the start and given back at the end, whatever the outcome. `on_failure` and `on_skip` are None where that outcome
    is not part of the model: should it happen all the same, only what was held comes back. Of two enabled transitions the one with the
    higher priority goes first, and among equals the one declared first.
    """

    name: str
    is_step: bool = False
    needs: tuple[str, ...] = ()
    takes: Arcs = ()
    reads: Arcs = ()
    holds: Arcs = ()
    gives: Arcs = ()
    on_failure: Arcs | None = None
    on_skip: Arcs | None = None
    duration_ms: int = 0
    priority: int = 0
    is_auto: bool = False


class Declared(NamedTuple):
    """A whole net. The goal says what must lie where when nothing moves any more; steps must then also have ended."""

    name: str
    places: tuple[Place, ...]
    transitions: tuple[Transition, ...]
    goal: Arcs = ()
