"""Carries the marking of a net over to a larger one that declares the same and more.

A boot learns from its user data which modules there are. What is new may need steps that have ended already: it finds that need met,
or itself blocked, as if it had been declared from the start.
"""

from collections.abc import Callable

from precast.net.model.declarations import Outcome
from precast.net.model.structure import NOBODY, Net


def is_extension(old: Net, new: Net) -> bool:
    """Whether the new net declares all of the old one first, unchanged."""
    places, transitions = old.declared.places, old.declared.transitions
    return new.declared.places[: len(places)] == places and new.declared.transitions[: len(transitions)] == transitions


def carried(old: Net, new: Net, tokens: list[int], outcome: Callable[[int], Outcome | None]) -> list[int]:
    """The tokens of the new net: those of the old one, and for what is new its start."""
    found = list(new.initial)
    found[: len(old.declared.places)] = tokens[: len(old.declared.places)]
    for before, after in ((old.to_do, new.to_do), (old.blocked, new.blocked)):
        for there, here in zip(before, after, strict=False):
            if there != NOBODY:
                found[here] = tokens[there]
    for bounded, room in old.room.items():
        found[new.room[bounded]] = tokens[room]
    known = len(old.need_from)
    found[new.first_need : new.first_need + known] = tokens[old.first_need : old.first_need + known]
    for need in range(known, len(new.need_from)):
        _meet(new, need, found, outcome, len(old.declared.transitions))
    return found


def _meet(new: Net, need: int, tokens: list[int], outcome: Callable[[int], Outcome | None], known: int) -> None:
    """Fill a new need, or block who has it, if the step that is needed has ended."""
    needed = new.need_from[need]
    ended = outcome(needed) if needed < known else None
    if ended == Outcome.SUCCESS:
        tokens[new.first_need + need] += 1
    elif ended is not None:
        tokens[new.blocked[new.need_to[need]]] += 1
