"""Carries the marking of a net over to a larger net that declares the same and more.

A boot learns from its user data which modules it has to run. A new step may need steps that have ended already: it then finds that need
met, or is blocked, as if it had been declared from the start.
"""

from collections.abc import Callable

from precast.net.model.declarations import Outcome
from precast.net.model.structure import NOBODY, Net


def is_extension(old: Net, new: Net) -> bool:
    """Whether the new net declares all of the old one first, unchanged."""
    places, transitions = old.declared.places, old.declared.transitions
    return new.declared.places[: len(places)] == places and new.declared.transitions[: len(transitions)] == transitions


def carry_tokens(old: Net, new: Net, tokens: list[int], outcome: Callable[[int], Outcome | None]) -> list[int]:
    """The tokens of the new net: those of the old net, and the initial tokens of new places."""
    carried = list(new.initial)
    carried[: len(old.declared.places)] = tokens[: len(old.declared.places)]
    for old_places, new_places in ((old.to_do, new.to_do), (old.blocked, new.blocked)):
        for old_place, new_place in zip(old_places, new_places, strict=False):
            if old_place != NOBODY:
                carried[new_place] = tokens[old_place]
    for bounded, room in old.room.items():
        carried[new.room[bounded]] = tokens[room]
    known = len(old.need_from)
    carried[new.first_need : new.first_need + known] = tokens[old.first_need : old.first_need + known]
    for need in range(known, len(new.need_from)):
        _meet_need(new, need, carried, outcome, len(old.declared.transitions))
    return carried


def _meet_need(new: Net, need: int, tokens: list[int], outcome: Callable[[int], Outcome | None], known: int) -> None:
    """If the needed step has ended, fill the new need, or block the step that has it."""
    needed = new.need_from[need]
    ended = outcome(needed) if needed < known else None
    if ended == Outcome.SUCCESS:
        tokens[new.first_need + need] += 1
    elif ended is not None:
        tokens[new.blocked[new.need_to[need]]] += 1
