"""The line of releases that a node is on, from its history: what is served, and what was served before it.

A release follows the one that was served when it was made, its parent. A rollback goes back along these parents. The releases that it
leaves are rolled back: the next release follows the one that was restored, so no later step back leads to them.
"""

from collections.abc import Sequence

from precast.store.catalogs.released import ReleaseStep

SERVED, REPLACED, ROLLED_BACK = "served", "replaced", "rolled back"


def line_of(history: Sequence[ReleaseStep]) -> list[int]:
    """The origins on the line of the newest of these releases, itself first. The line ends where the history does."""
    if not history:
        return []
    known = {step.number: step for step in history}
    line: list[int] = [history[0].origin]
    parent = history[0].parent
    while parent is not None:
        line.append(parent)
        parent = known[parent].parent if parent in known else None
    return line


def states_of(history: Sequence[ReleaseStep]) -> dict[int, str]:
    """The state of each release by its number in the node's history, newest first; rollbacks have none."""
    line = line_of(history)
    return {
        step.number: SERVED if step.number in line[:1] else REPLACED if step.number in line else ROLLED_BACK
        for step in history
        if step.origin == step.number
    }


def is_rolled_back(history: Sequence[ReleaseStep], digest: str) -> bool:
    """Whether the newest release of a catalog, by its digest, was rolled back."""
    states = states_of(history)
    newest = next((step for step in history if step.digest == digest and step.number in states), None)
    return newest is not None and states[newest.number] == ROLLED_BACK
