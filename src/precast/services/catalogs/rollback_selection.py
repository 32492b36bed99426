"""Finds where a rollback takes each node: a preview and a rollback select in the same way.

Where the served catalog is of an environment that needs approvals, only releases of that environment are restored: people approved nothing
of another one.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from precast.services.catalogs import issues
from precast.services.catalogs.staged_selection import read_served
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import Release, ReleaseStep
from precast.store.code.environments import Environments
from precast.store.engine.query import Transaction
from precast.wire.catalogs.bodies import MoveView, ReleasePoint
from precast.wire.catalogs.release_points import CodeBeginning, Point, ReleaseNumber, describe_point

# Names of nodes in a group of moves; it always says how many nodes there are.
NAMES_SHOWN = 20


class RollbackSelection(NamedTuple):
    """The releases to restore, what the nodes are served now, and why other nodes are not part of it."""

    steps: dict[str, ReleaseStep]
    served: dict[str, Release]
    unchanged: list[str]
    left_out: dict[str, str]


def select_rollback(
    catalogs: Catalogs, environments: Environments, names: Sequence[str], point: Point | None
) -> Transaction[RollbackSelection]:
    """Find the release that each node goes back to: the one before the served one, or the given one."""
    served = yield from read_served(names)
    guarded = yield from _find_guarded(environments, {release.environment for release in served.values()})
    selection = RollbackSelection(
        {}, served, [], {name: "nothing was released" for name in names if name not in served}
    )
    if point is None:
        yield from _step_back(catalogs, guarded, selection)
        return selection
    point = yield from _distinguish(catalogs, point)
    found = yield from _find_point(catalogs, list(served), point)
    for name, release in served.items():
        step = found.get(name)
        if step is None:
            selection.left_out[name] = _why_not(point)
        elif step.origin == release.origin or step.digest == release.digest:
            selection.unchanged.append(name)
        elif release.environment in guarded and step.environment != release.environment:
            selection.left_out[name] = (
                f"{describe_point(point)} is of {step.environment}, and {release.environment} needs approvals"
            )
        else:
            selection.steps[name] = step
    return selection


def _step_back(catalogs: Catalogs, guarded: set[str], selection: RollbackSelection) -> Transaction[None]:
    served = selection.served
    wanted = {name: release.parent for name, release in served.items()}
    while wanted:
        numbers = {name: number for name, number in wanted.items() if number is not None}
        found = yield from catalogs.released.find_numbered(numbers)
        further: dict[str, int | None] = {}
        for name, number in wanted.items():
            if number is None:
                selection.left_out[name] = "nothing was released before"
            elif name not in found:
                selection.left_out[name] = "what was released before is no longer kept (`keep_releases`)"
            elif served[name].environment in guarded and found[name].environment != served[name].environment:
                further[name] = found[name].parent
            else:
                selection.steps[name] = found[name]
        wanted = further


def _distinguish(catalogs: Catalogs, point: Point) -> Transaction[Point]:
    """A number that no release has is the beginning of a commit, if it is long enough. Raises NotFoundError RELEASE-005."""
    if not isinstance(point, ReleaseNumber) or (yield from catalogs.log.find(point.number)) is not None:
        return point
    if point.commit is None:
        raise issues.NO_SUCH_RELEASE.error(number=point.number)
    return point.commit


def _find_point(catalogs: Catalogs, names: Sequence[str], point: Point) -> Transaction[dict[str, ReleaseStep]]:
    match point:
        case ReleaseNumber(number):
            return (yield from catalogs.released.find_of_release(names, number))
        case CodeBeginning(beginning):
            return (yield from catalogs.released.find_of_commit(names, beginning))
        case _:
            return (yield from catalogs.released.find_of_time(names, point))


def _why_not(point: Point) -> str:
    if isinstance(point, datetime):
        return f"what it was served at {describe_point(point)} is not known or no longer kept"
    return f"{describe_point(point)} was not released to it, or is no longer kept"


def _find_guarded(environments: Environments, names: Iterable[str]) -> Transaction[set[str]]:
    """Those of the environments that need approvals."""
    guarded = set()
    for name in sorted(names):
        environment = yield from environments.find(name)
        if environment is not None and environment.release_approvals:
            guarded.add(name)
    return guarded


def group_moves(selection: RollbackSelection) -> list[MoveView]:
    """The moves of nodes, equal ones grouped, the most common first."""
    groups: dict[tuple[ReleasePoint, ReleasePoint], list[str]] = {}
    for name, step in selection.steps.items():
        move = _point(selection.served[name]), _point(step)
        groups.setdefault(move, []).append(name)
    return [
        MoveView(before, after, sorted(names)[:NAMES_SHOWN], len(names))
        for (before, after), names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[1]))
    ]


def _point(release: Release | ReleaseStep) -> ReleasePoint:
    return ReleasePoint(release.origin_release, release.version, release.commit)
