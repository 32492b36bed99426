"""What a rebase changes: which tasks do something else on which nodes, and so run again.

A task does something else if its program differs, or the version of a catalog that it applies or tests. The whole version counts, also for
a part of a catalog: whether the part is the same is known on the node only, and a resource that is in sync stays as it is.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from precast.services.plans.changes import EndedRun, has_work, is_done
from precast.services.plans.preparing.catalogs import find_versions
from precast.services.plans.preparing.preparation import Instances, PreparedPlan
from precast.store.plans.runs import ProgramRow
from precast.wire.jobs import states
from precast.wire.jobs.programs import parse_program
from precast.wire.plans.bodies import RebaseChange


class NodeWork(NamedTuple):
    """What a task does on a node: its program, and the versions of the catalogs that it applies or tests, by entry point."""

    program: str
    catalogs: Mapping[str, str]


# By the number of the task and the node.
Works = Mapping[tuple[int, str], NodeWork]


def find_works(rows: Iterable[ProgramRow], catalogs: Mapping[str, Mapping[str, str]]) -> Works:
    """What tasks do on nodes, by their programs and the catalogs that a run has pinned for each node."""
    found = {}
    for row in rows:
        program = parse_program(row.program)
        for node in row.nodes:
            found[row.task, node] = NodeWork(row.program, find_versions(program, catalogs.get(node, {})))
    return found


class RebaseChanges:
    """The changes from what a run has pinned, and its tasks have done, to another version that is prepared."""

    def __init__(self, ended: EndedRun, rows: Iterable[ProgramRow], prepared: PreparedPlan) -> None:
        self._ended, self._prepared = ended, prepared
        self._plans = ended.pinned.plan, prepared.pinned.plan
        self._before = find_works(rows, ended.pinned.catalogs)
        self._after = find_works(prepared.programs, prepared.pinned.catalogs)

    def choose_instances(self) -> list[Instances]:
        """The steps of the next round: what has not succeeded, what is new, and what does something else now."""
        done = {(step.task, step.node) for step in self._ended.steps if is_done(step)}
        plan = self._prepared.pinned.plan
        chosen = []
        for group in self._prepared.instances:
            is_always = plan.tasks[group.task - 1].is_always
            keys = ((group.task, node) for node in group.nodes)
            nodes = [
                node for task, node in keys if is_always or (task, node) not in done or self._differs((task, node))
            ]
            if nodes:
                chosen.append(Instances(group.task, nodes))
        return chosen if has_work(plan, chosen) else []

    def find_tasks(self) -> set[int]:
        """The tasks that ask for another approval, or do something else on some node: who has let them go has not seen that."""
        before, after = self._plans
        pairs = enumerate(zip(before.tasks, after.tasks, strict=False), start=1)
        asking = {number for number, (old, new) in pairs if old.approval != new.approval}
        return asking | {key[0] for key in self._after if self._differs(key)}

    def list_changes(self) -> list[RebaseChange]:
        """How tasks differ: by what they do on each node. One that a condition leaves out now is still there."""
        skipped = self._prepared.pinned.skipped
        left_out = {(row.task, node) for row in skipped if row.reason != states.NO_WORK for node in row.nodes}
        changed: dict[tuple[int, str], list[str]] = defaultdict(list)
        for key in sorted({*self._before, *self._after}):
            if self._before.get(key) != self._after.get(key) and (key in self._after or key not in left_out):
                changed[key[0], _describe(self._before.get(key), self._after.get(key))].append(key[1])
        titles = {number: task.id for plan in self._plans for number, task in enumerate(plan.tasks, start=1)}
        views = [
            {"task": titles[task], "change": what, "nodes": nodes} for (task, what), nodes in sorted(changed.items())
        ]
        return msgspec.convert(views, list[RebaseChange])

    def _differs(self, key: tuple[int, str]) -> bool:
        """Whether a task that is to run on a node does something else there than before."""
        return key in self._after and self._after[key] != self._before.get(key)


def _describe(before: NodeWork | None, after: NodeWork | None) -> str:
    if before is None or after is None:
        return "added" if before is None else "removed"
    return "catalog" if before.program == after.program else "changed"
