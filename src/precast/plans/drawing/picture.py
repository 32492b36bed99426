"""The content of a drawing of a plan: boxes and arrows, without positions.

A box is a task, with where it runs, the tests that gate it, and what is special about it. An arrow is read "before". Arrows that a longer
way implies are left out, because a deployment declares several for each that a person needs; the picture says how many.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from precast.plans.model import SYNC_NODE, PlacedDependency, Plan, PlanGroup, PlanTask
from precast.plans.views.descriptions import count, describe_test, describe_tolerance
from precast.plans.views.graph import find_implied

OTHER = "other"


class TaskBox(NamedTuple):
    """A task: its type, where it runs, its tests before and after, and how many of its nodes are in each state.

    The kind `other` is a task on other nodes, in the picture of one node.
    """

    name: str
    kind: str
    roles: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    states: tuple[tuple[str, int], ...] = ()
    condition: str = ""


class TaskArrow(NamedTuple):
    """An arrow between two boxes, by index: `need` (on the same node), `cross` (also across nodes), `any` (one of them is enough)."""

    kind: str
    source: int
    target: int


class PlanPicture(NamedTuple):
    """All boxes and arrows of a drawing, and sentences below its legend."""

    name: str
    boxes: tuple[TaskBox, ...]
    arrows: tuple[TaskArrow, ...]
    notes: tuple[str, ...] = ()


def make_picture(
    plan: Plan,
    dependencies: Iterable[PlacedDependency],
    states: Mapping[str, Mapping[str, int]] | None = None,
    *,
    shows_all: bool = False,
) -> PlanPicture:
    """The picture of a plan: with the dependencies of an expansion, as it is on those nodes; otherwise see `list_dependencies`.

    `states` has, by task, how many of its nodes are in each state. With `shows_all`, arrows that follow from a longer way are drawn too.
    """
    boxes = tuple(make_box(task, (states or {}).get(task.id, {})) for task in plan.tasks)
    arrows = make_arrows(dependencies)
    implied = set() if shows_all else find_implied(len(boxes), [(arrow.source, arrow.target) for arrow in arrows])
    shown = tuple(arrow for number, arrow in enumerate(arrows) if number not in implied)
    return PlanPicture(plan.name, boxes, shown, (*note_left_out(len(implied)), *map(_note_group, plan.groups)))


def make_box(task: PlanTask, states: Mapping[str, int]) -> TaskBox:
    """The box of a task."""
    return TaskBox(
        task.id,
        task.type,
        () if task.type == "stage" else task.selectors,
        tuple(map(describe_test, task.test_pre)),
        tuple(map(describe_test, task.test_post)),
        tuple(_marks(task)),
        tuple((state, nodes) for state, nodes in states.items() if nodes),
        "" if task.condition is None else " ".join(task.condition.text.split()),
    )


def make_arrows(dependencies: Iterable[PlacedDependency]) -> list[TaskArrow]:
    """One arrow for each pair of tasks, of the kind that means most nodes."""
    kinds: dict[tuple[int, int], set[str]] = {}
    for dependency in dependencies:
        is_local = dependency.is_local or SYNC_NODE in dependency.nodes or SYNC_NODE in dependency.needed_on
        kind = "need" if is_local else "any" if dependency.is_any else "cross"
        kinds.setdefault((dependency.needed - 1, dependency.task - 1), set()).add(kind)
    return [
        TaskArrow(next(kind for kind in ("cross", "any", "need") if kind in found), *pair)
        for pair, found in kinds.items()
    ]


def _marks(task: PlanTask) -> Sequence[str]:
    marks = []
    if task.at_once == 1:
        marks.append("one by one")
    elif task.at_once is not None:
        marks.append(f"{task.at_once} at once")
    elif task.at_once_percent is not None:
        marks.append(f"{task.at_once_percent}% at once")
    if task.has_canary:
        marks.append("canary")
    if task.approval:
        marks.append("approval")
    if task.is_always:
        marks.append("always")
    return marks


def note_left_out(arrows: int) -> tuple[str, ...]:
    return (f"left out because longer ways imply them: {count(arrows, 'arrow')}",) if arrows else ()


def _note_group(group: PlanGroup) -> str:
    roles = ", ".join(group.selectors)
    added = f", adds {', '.join(group.tasks)}" if group.tasks else ""
    return f"group {group.id}{f' ({roles})' if roles and roles != group.id else ''}: {describe_tolerance(group)}{added}"
