"""An expansion as a net: which instances may begin.

The turn of an instance is a transition. It takes the instance's *to do*; it reads *done* of each instance that it waits for, and *one
done* of each set of which one is enough; it holds its node, so a node does one task at a time, and a slot of its task if the plan limits
how many nodes do that task at once. It reads *go*, which is removed when more nodes of a group have failed than the group tolerates; a
task that runs always does not read it. A task that a person has to approve reads *approved*; a task with a canary reads *canary passed*
on the other nodes.

An instance that is skipped has its place in the order and no work: its turn holds nothing, and neither a person nor a canary keeps it
waiting. The canary of a task is its first instance that is not skipped.

A stage does nothing on any node: it is an automatic transition, which starts when everything it waits for has ended, however it ended. A
joint is a set of instances that many others wait for: the net has one automatic transition for it instead of an arc for each pair.

What follows from a failure is not in the net: an instance that can no longer begin leaves it (`execution`). Nor is the limit of nodes at
work at once: every turn would hold its slots, so each start and end would concern all other instances.
"""

from array import array
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from precast.net.model.builder import Builder
from precast.net.model.compiler import collector_paused
from precast.net.model.declarations import Arcs, Place, Transition
from precast.net.model.structure import Net
from precast.plans.model import SYNC_NODE, Expansion, Instance, InstanceKey, PlanTask

NO_PLACE = -1
_TO_DO, _DONE, _ENDED = "to do", "done", "ended"
_ALL_DONE, _ALL_ENDED, _ONE_DONE = "all done", "all ended", "one done"


class PlanLimits(NamedTuple):
    """Limits of a run of a plan beyond those of its tasks: how many nodes are at work at once."""

    at_once: int | None = None


NO_LIMITS = PlanLimits()


class PlanPlaces:
    """The numbers of the places of a plan's net: by instance NO_PLACE where nothing reads a place."""

    def __init__(self, count: int) -> None:
        self.go = NO_PLACE
        self.to_do, self.done, self.ended = (array("l", [NO_PLACE]) * count for _ in range(3))
        self.sets: dict[int, list[int]] = {}  # by instance: *one done* of the sets of which it is a member
        self.nodes: dict[str, int] = {}
        self.slots: dict[int, int] = {}  # by task
        self.approved: dict[int, int] = {}  # by task
        self.passed: dict[int, int] = {}  # by task: *canary passed*
        self.canaries: dict[int, int] = {}  # the same by the instance that is the canary

    def list_gains(self, index: int) -> list[int]:
        """The places that get a token when an instance is done, besides *ended*."""
        places = (self.done[index], *self.sets.get(index, ()), self.canaries.get(index, NO_PLACE))
        return [place for place in places if place != NO_PLACE]

    def list_ends(self, index: int) -> list[int]:
        """The places that get a token when an instance ends, however it ends."""
        return [] if self.ended[index] == NO_PLACE else [self.ended[index]]

    def list_holds(self, key: InstanceKey) -> list[int]:
        """The limits that the turn of an instance holds, if it is not skipped."""
        slots = self.slots.get(key.task)
        return [self.nodes[key.node]] if slots is None else [self.nodes[key.node], slots]


class PlanNet(NamedTuple):
    """The net of an expansion: transition 0, 1, … is the instance with that index."""

    net: Net
    places: PlanPlaces


def build_plan_net(expansion: Expansion, skipped: Container[InstanceKey] = ()) -> PlanNet:
    """The net of an expansion, of which some instances are skipped."""
    with collector_paused():
        return _PlanNetBuilder(expansion, skipped).build()


def task_of(expansion: Expansion, instance: Instance) -> PlanTask:
    return expansion.plan.tasks[instance.key.task - 1]


def waits_for_ends(expansion: Expansion, instance: Instance) -> bool:
    """Whether an instance begins when what it waits for has ended, however it ended: stages, and tasks that run always."""
    return instance.key.node == SYNC_NODE or task_of(expansion, instance).is_always


def find_canaries(expansion: Expansion, skipped: Container[InstanceKey] = ()) -> dict[int, int]:
    """By the number of a task with a canary, its first instance that is not skipped."""
    canaries: dict[int, int] = {}
    if expansion.canaries:
        for index, instance in enumerate(expansion.instances):
            if instance.key.task in expansion.canaries and instance.key not in skipped:
                canaries.setdefault(instance.key.task, index)
    return canaries


class _Whole(NamedTuple):
    """Instances that others wait for as a whole, and the place that says that all are in a state, or that one is."""

    name: str
    members: tuple[int, ...]
    state: str
    place: int


class _PlanNetBuilder:
    """Collects the places and transitions of one expansion. Each place has one arc object, which saves much of the memory."""

    def __init__(self, expansion: Expansion, skipped: Container[InstanceKey]) -> None:
        self._expansion, self._skipped = expansion, skipped
        self._net = Builder(expansion.plan.name)
        self._places = PlanPlaces(len(expansion.instances))
        self._arcs: list[tuple[str, int]] = []  # by place
        self._labels = [_label(expansion, instance.key) for instance in expansion.instances]
        self._wholes: dict[tuple[int, str], _Whole] = {}  # by the identity of the members, a tuple that instances share
        self._held: dict[tuple[int, ...], Arcs] = {}

    def build(self) -> PlanNet:
        self._places.go = self._add_place("go", 1)
        self._add_limits()
        self._add_gates()
        # All places that are read are known before the first transition that may give to them.
        # An instance may wait for the same set in two ways.
        reads = [tuple(dict.fromkeys(self._list_dependencies(instance))) for instance in self._expansion.instances]
        for index, (instance, dependencies) in enumerate(zip(self._expansion.instances, reads, strict=True)):
            self._add_turn(index, instance, dependencies)
        for whole in self._wholes.values():
            if whole.state != _ONE_DONE:
                self._add_joining(whole)
        return PlanNet(self._net.build(), self._places)

    # Places

    def _add_place(self, name: str, tokens: int = 0, *, is_limit: bool = False) -> int:
        self._net.add_place(Place(name, tokens, is_limit=is_limit))
        self._arcs.append((name, 1))
        return len(self._arcs) - 1

    def _add_limits(self) -> None:
        for node in sorted({instance.key.node for instance in self._expansion.instances} - {SYNC_NODE}):
            self._places.nodes[node] = self._add_place(f"node {node}", 1, is_limit=True)
        for task, count in sorted(self._expansion.at_once.items()):
            self._places.slots[task] = self._add_place(f"{self._id(task)}: slots", count, is_limit=True)

    def _add_gates(self) -> None:
        for number, task in enumerate(self._expansion.plan.tasks, 1):
            if task.approval:
                self._places.approved[number] = self._add_place(f"{task.id}: approved")
        for number, index in sorted(find_canaries(self._expansion, self._skipped).items()):
            place = self._add_place(f"{self._id(number)}: canary passed")
            self._places.passed[number] = self._places.canaries[index] = place

    def _id(self, task: int) -> str:
        return self._expansion.plan.tasks[task - 1].id

    def _find_done(self, index: int) -> int:
        """The place *done* of an instance; added when it is asked for first."""
        table = self._places.done
        if table[index] == NO_PLACE:
            table[index] = self._add_place(f"{self._labels[index]}: done")
        return table[index]

    def _find_ended(self, index: int) -> int:
        """The place *ended* of an instance; added when it is asked for first."""
        table = self._places.ended
        if table[index] == NO_PLACE:
            table[index] = self._add_place(f"{self._labels[index]}: ended")
        return table[index]

    def _find_whole(self, members: tuple[int, ...], state: str) -> int:
        """The place that says that all members are in this state, or one; added when it is asked for first."""
        key = (id(members), state)
        whole = self._wholes.get(key)
        if whole is None:
            name = f"{state}, {len(self._wholes)}: {self._labels[members[0]]} and {len(members) - 1} more"
            whole = self._wholes[key] = _Whole(name, members, state, self._add_place(name))
            for member in members:
                if state == _ONE_DONE:
                    self._places.sets.setdefault(member, []).append(whole.place)
                elif state == _ALL_DONE:
                    self._find_done(member)
                else:
                    self._find_ended(member)
        return whole.place

    # Transitions

    def _list_dependencies(self, instance: Instance) -> Iterator[int]:
        joints = [self._expansion.joints[joint] for joint in instance.joins]
        if waits_for_ends(self._expansion, instance):
            # One of a set is enough to begin, but a stage and a cleanup wait for all of it to end.
            yield from map(self._find_ended, instance.needs)
            yield from (self._find_whole(members, _ALL_ENDED) for members in (*joints, *instance.needs_any))
        else:
            yield from map(self._find_done, instance.needs)
            yield from (self._find_whole(members, _ALL_DONE) for members in joints)
            yield from (self._find_whole(members, _ONE_DONE) for members in instance.needs_any)

    def _add_turn(self, index: int, instance: Instance, dependencies: Sequence[int]) -> None:
        key, places, name = instance.key, self._places, self._labels[index]
        places.to_do[index] = self._add_place(f"{name}: to do", 1)
        takes, ends = self._make_arcs([places.to_do[index]]), places.list_ends(index)
        gives = self._make_arcs([*places.list_gains(index), *ends])
        if key.node == SYNC_NODE:
            self._net.add_transition(_automatic(name, takes, self._make_arcs(dependencies), gives))
            return
        is_skipped = key in self._skipped
        reads = [*dependencies, *self._list_gates(index, instance, is_skipped)]
        holds = () if is_skipped else self._hold(key)
        self._net.add_transition(
            Transition(name, False, (), takes, self._make_arcs(reads), holds, gives, self._make_arcs(ends))
        )

    def _list_gates(self, index: int, instance: Instance, is_skipped: bool) -> Iterator[int]:
        places, task = self._places, instance.key.task
        if not task_of(self._expansion, instance).is_always:
            yield places.go
        if not is_skipped and task in places.approved:
            yield places.approved[task]
        if not is_skipped and task in places.passed and index not in places.canaries:
            yield places.passed[task]

    def _hold(self, key: InstanceKey) -> Arcs:
        """The limits that a turn holds; the turns of a node share the arcs."""
        held = tuple(self._places.list_holds(key))
        if held not in self._held:
            self._held[held] = self._make_arcs(held)
        return self._held[held]

    def _add_joining(self, whole: _Whole) -> None:
        """Add the automatic transition that starts when all members are in a state."""
        table = self._places.done if whole.state == _ALL_DONE else self._places.ended
        to_do = self._add_place(f"{whole.name}: to do", 1)
        reads = self._make_arcs([table[member] for member in whole.members])
        self._net.add_transition(
            _automatic(whole.name, self._make_arcs([to_do]), reads, self._make_arcs([whole.place]))
        )

    def _make_arcs(self, places: Sequence[int]) -> Arcs:
        return tuple([self._arcs[place] for place in places])


def _automatic(name: str, takes: Arcs, reads: Arcs, gives: Arcs) -> Transition:
    """A transition that precedes all turns: what may begin never depends on when stages and joints were looked at."""
    return Transition(name, takes=takes, reads=reads, gives=gives, is_auto=True, priority=1)


def _label(expansion: Expansion, key: InstanceKey) -> str:
    task = expansion.plan.tasks[key.task - 1].id
    return f"stage {task}" if key.node == SYNC_NODE else f"{task} on {key.node}"
