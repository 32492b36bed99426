"""The parts of a net as its author declares them: by name, not by number.

A declared net is a plain value. Two nets are equal when their declarations are. The text notation, PNML and the drawing are all made from
the declarations, and `compiler` turns them into the integer-indexed `Net` that runs. Names are the user's own (`File[/etc/ntp.conf]`), and
every message shows them.
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
    """Holds tokens. A limit is a place whose tokens are slots: a transition holds some while it runs and gives them back."""

    name: str
    tokens: int = 0
    capacity: int | None = None
    is_limit: bool = False


class Transition(NamedTuple):
    """A piece of work. A step is a transition that ends exactly once, after everything it needs.

    `holds` are taken at the start and given back at the end, whatever the outcome. `on_failure` and `on_skip` are None where that outcome
    is not part of the model: if it happens nevertheless, only the held tokens are given back. Of two enabled transitions the one with the
    higher priority starts first, and of equal priority the one declared first.
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


class NetDeclaration(NamedTuple):
    """A whole net. The goal is the tokens that places must have when nothing moves any more; all steps must then have ended, too."""

    name: str
    places: tuple[Place, ...]
    transitions: tuple[Transition, ...]
    goal: Arcs = ()
