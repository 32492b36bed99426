"""An expansion as a net: which instances may begin.

The turn of an instance is a transition. It takes the instance's *to do*; it reads *done* of each instance that it waits for, and *one of*
for each set of which one is enough; it holds its node, so a node does one task at a time, and a slot of its task if the plan limits how
many nodes do that task at once. It reads *go*, which is removed when more nodes of a group have failed than the group tolerates; a task
that runs always does not read it. A task that a person has to approve reads *approved*; a task with a canary reads *canary passed* on the
other nodes.

A stage does nothing on any node: it is an automatic transition, which starts when everything it waits for has ended, however it ended. A
joint is a set of instances that many others wait for: the net has one automatic transition for it instead of an arc for each pair.

What follows from a failure is not in the net: an instance that can no longer begin leaves it (`execution`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from precast.net.model.builder import Builder
from precast.net.model.structure import Net
from precast.plans.model import SYNC_NODE, Expansion, Instance, PlanTask

GO, SLOTS = "go", "slots"


class PlanLimits(NamedTuple):
    """Limits of a run of a plan beyond those of its tasks: how many nodes are at work at once."""

    at_once: int | None = None


NO_LIMITS = PlanLimits()


def build_plan_net(expansion: Expansion, limits: PlanLimits = NO_LIMITS) -> Net:
    """The net of an expansion. The transition with the number of an instance is that instance.

    There are places *done* and *ended* only of instances that something waits for.
    """
    return _PlanNetBuilder(expansion, limits).build()


def to_do(index: int) -> str:
    return f"{index} to do"


def done(index: int) -> str:
    """Has a token when an instance is no reason to wait any more; of what a stage waits for, also when it has failed."""
    return f"{index} done"


def ended(index: int) -> str:
    return f"{index} ended"


def node_place(node: str) -> str:
    return f"node {node}"


def task_slots(task: int) -> str:
    return f"slots of task {task}"


def approved(task: int) -> str:
    return f"task {task} approved"


def canary_passed(task: int) -> str:
    return f"canary of task {task} passed"


def joined(joint: int) -> str:
    return f"joint {joint}"


def joined_ended(joint: int) -> str:
    return f"joint {joint} ended"


def one_of(index: int, number: int) -> str:
    return f"{index} waits for one of {number}"


def task_of(expansion: Expansion, instance: Instance) -> PlanTask:
    return expansion.plan.tasks[instance.key.task - 1]


def waits_for_ends(expansion: Expansion, instance: Instance) -> bool:
    """Whether an instance begins when what it waits for has ended, however it ended: stages, and tasks that run always."""
    return instance.key.node == SYNC_NODE or task_of(expansion, instance).is_always


class _PlanNetBuilder:
    """Collects the places and transitions of one expansion."""

    def __init__(self, expansion: Expansion, limits: PlanLimits) -> None:
        self._expansion, self._limits = expansion, limits
        self._net = Builder(expansion.plan.name)
        self._sets_of: dict[int, list[str]] = {}  # the places of sets of which an instance is a member
        self._read = {
            place for index, instance in enumerate(expansion.instances) for place in self._dependencies(index, instance)
        }
        for joint, members in enumerate(expansion.joints):
            self._read.update(map(done, members) if joined(joint) in self._read else ())
            self._read.update(map(ended, members) if joined_ended(joint) in self._read else ())

    def build(self) -> Net:
        expansion, net = self._expansion, self._net
        net.place(GO, 1)
        if self._limits.at_once is not None:
            net.limit(SLOTS, self._limits.at_once)
        for node in sorted({instance.key.node for instance in expansion.instances} - {SYNC_NODE}):
            net.limit(node_place(node))
        for task, count in sorted(expansion.at_once.items()):
            net.limit(task_slots(task), count)
        self._add_task_places()
        for index, instance in enumerate(expansion.instances):
            net.place(to_do(index), 1)
            for place in (done(index), ended(index)):
                if place in self._read:
                    net.place(place)
            for number, members in enumerate(instance.needs_any):
                net.place(one_of(index, number))
                for member in members:
                    self._sets_of.setdefault(member, []).append(one_of(index, number))
        for index, instance in enumerate(expansion.instances):
            self._add_instance(index, instance)
        for joint, members in enumerate(expansion.joints):
            self._add_joint(joint, members)
        return net.build()

    def _add_task_places(self) -> None:
        expansion, net = self._expansion, self._net
        for task in sorted({instance.key.task for instance in expansion.instances}):
            if expansion.plan.tasks[task - 1].approval:
                net.place(approved(task))
            if task in expansion.canaries:
                net.place(canary_passed(task))

    def _add_instance(self, index: int, instance: Instance) -> None:
        task, node = instance.key
        sets = self._sets_of.get(index, [])
        ends = [ended(index)] if ended(index) in self._read else []
        gives = [*ends, *sets]
        if done(index) in self._read:
            gives.append(done(index))
        reads = [*self._dependencies(index, instance)]
        if node == SYNC_NODE:
            self._net.transition(f"{index} stage", takes=[to_do(index)], reads=reads, gives=gives, is_auto=True)
            return
        declared = task_of(self._expansion, instance)
        if not declared.is_always:
            reads.append(GO)
        if declared.approval:
            reads.append(approved(task))
        canary = self._expansion.canaries.get(task)
        if canary is not None and canary != node:
            reads.append(canary_passed(task))
        elif canary is not None:
            gives.append(canary_passed(task))
        self._net.transition(
            f"{index} turn",
            takes=[to_do(index)],
            reads=reads,
            holds=list(self._holds(task, node)),
            gives=gives,
            on_failure=ends,
            on_skip=[],
        )

    def _dependencies(self, index: int, instance: Instance) -> Iterable[str]:
        is_any_end = waits_for_ends(self._expansion, instance)
        yield from (ended(needed) if is_any_end else done(needed) for needed in instance.needs)
        yield from (joined_ended(joint) if is_any_end else joined(joint) for joint in instance.joins)
        if not is_any_end:
            yield from (one_of(index, number) for number in range(len(instance.needs_any)))
        else:
            # One of them is enough to begin, but a stage and a cleanup wait for all of them to end.
            yield from (ended(member) for members in instance.needs_any for member in members)

    def _holds(self, task: int, node: str) -> Iterable[str]:
        yield node_place(node)
        if task in self._expansion.at_once:
            yield task_slots(task)
        if self._limits.at_once is not None:
            yield SLOTS

    def _add_joint(self, joint: int, members: tuple[int, ...]) -> None:
        for name, place, of in (("done", joined(joint), done), ("ended", joined_ended(joint), ended)):
            if place not in self._read:
                continue
            self._net.place(f"{place}: to do", 1)
            self._net.place(place)
            self._net.transition(
                f"{place} {name}",
                takes=[f"{place}: to do"],
                reads=[of(member) for member in members],
                gives=[place],
                is_auto=True,
            )
