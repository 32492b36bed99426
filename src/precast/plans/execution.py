"""One run of an expansion: which instance begins next, and which can never begin because others have failed.

The net (`plan_net`) says what may begin. This module adds what follows from a failure: the other tasks of the node that failed, and every
instance that waits for one that has not succeeded, are *unreachable*; they leave the net, with the failure that is their cause. A stage,
and a task that runs always, wait only for the end of what is before them.

The run stays in memory while a server drives it. A server that takes it over computes the same state from the states of the instances: both
let the same instances begin, in the same order.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from precast.net.execution.execution import FORMAT, Execution
from precast.net.model.declarations import Outcome
from precast.plans import plan_net
from precast.plans.model import SYNC_NODE, Expansion, InstanceKey
from precast.plans.plan_net import NO_LIMITS, PlanLimits, build_plan_net, task_of
from precast.plans.users import ENDED, InstanceUsers, Status


class Unreachable(NamedTuple):
    """An instance that can never begin in this run, and the instance whose end is the cause."""

    key: InstanceKey
    cause: InstanceKey


class PlanExecution:
    """The state of one run."""

    def __init__(
        self,
        expansion: Expansion,
        statuses: Mapping[InstanceKey, Status],
        limits: PlanLimits = NO_LIMITS,
        approved: Iterable[int] = (),
        *,
        is_going: bool = True,
    ) -> None:
        """Instances without a status are waiting. `approved` are the numbers of tasks that a person has let go."""
        self._expansion = expansion
        self._keys = [instance.key for instance in expansion.instances]
        self._numbers = {key: index for index, key in enumerate(self._keys)}
        self._statuses = [statuses.get(key, Status.WAITING) for key in self._keys]
        self._waiting: dict[str, set[int]] = defaultdict(set)
        self._away: dict[str, set[int]] = defaultdict(set)
        self._running: set[int] = set()
        self._open = 0  # instances on nodes that have not ended
        self._failed_nodes: list[set[str]] = [set() for _ in expansion.groups]
        self._unreachable: list[Unreachable] = []
        self._users = InstanceUsers(expansion)
        self._net = build_plan_net(expansion, limits)
        self._places = self._net.places_by_name
        self._at_once = limits.at_once
        self._execution = self._restore(set(approved), is_going)
        for index, status in enumerate(self._statuses):
            if status is Status.FAILED:
                self._note_failure(index)
            elif status is Status.DROPPED:
                self._follow([index], index)

    # What happens

    def start_next(self) -> InstanceKey | None:
        """Start the next instance and return it; None if none may start now."""
        index = self._execution.start_next()
        if index is None:
            return None
        key = self._keys[index]
        self._statuses[index] = Status.RUNNING
        self._waiting[key.node].discard(index)
        self._running.add(index)
        return key

    def end(self, key: InstanceKey, status: Status) -> None:
        """An instance has ended, whether it had begun or not. What is known already changes nothing."""
        index = self._numbers.get(key)
        if index is None or self._statuses[index] in ENDED:
            return
        before, self._statuses[index] = self._statuses[index], status
        self._open -= 1
        if before is Status.RUNNING:
            self._running.discard(index)
            self._execution.finish(index, Outcome.SUCCESS if status is Status.DONE else Outcome.FAILURE)
        else:
            self._leave(index, before)
            self._put(plan_net.ended(index), 1)
            if status is Status.DONE:
                self._count_done(index)
        if status is Status.FAILED:
            self._note_failure(index)
        elif status is Status.DROPPED:
            self._follow([index], index)

    def postpone(self, key: InstanceKey) -> None:
        """The node of an instance that has started is away: the instance frees its places and waits for the node."""
        index = self._numbers[key]
        self._execution.finish(index, Outcome.SKIPPED)
        self._running.discard(index)
        self._set_away(index)

    def hold(self, nodes: Iterable[str]) -> None:
        """Nothing may begin on these nodes for now, as though they were away."""
        for node in nodes:
            for index in self._waiting.pop(node, ()):
                self._put(plan_net.to_do(index), -1)
                self._set_away(index)

    def return_nodes(self, nodes: Iterable[str]) -> bool:
        """Nodes are back; whether any of them was waited for."""
        has_changed = False
        for node in set(nodes) & self._away.keys():
            for index in sorted(self._away.pop(node)):
                self._statuses[index] = Status.WAITING
                self._waiting[node].add(index)
                self._put(plan_net.to_do(index), 1)
                has_changed = True
        return has_changed

    def approve(self, task: int) -> None:
        """A person lets a task go; a second approval changes nothing."""
        place = self._places.get(plan_net.approved(task))
        if place is not None and not self._execution.tokens[place]:
            self._execution.put(place, 1)

    def take_unreachable(self) -> list[Unreachable]:
        """The instances that can never begin any more, once each. They have left the net; their ends need no further call."""
        found, self._unreachable = self._unreachable, []
        return found

    # What is so

    @property
    def is_halted(self) -> bool:
        """Whether too many nodes of a group have failed."""
        return any(
            group.tolerate is not None and len(failed) > group.tolerate
            for group, failed in zip(self._expansion.groups, self._failed_nodes, strict=True)
        )

    @property
    def is_over(self) -> bool:
        """Whether all instances on nodes have ended."""
        return not self._open

    @property
    def running(self) -> list[InstanceKey]:
        return [self._keys[index] for index in sorted(self._running)]

    @property
    def away(self) -> list[InstanceKey]:
        return [self._keys[index] for index in sorted(index for held in self._away.values() for index in held)]

    @property
    def waiting_nodes(self) -> set[str]:
        """The nodes on which something waits for its turn."""
        return {node for node, waiting in self._waiting.items() if waiting}

    @property
    def has_waiting(self) -> bool:
        return any(self._waiting.values())

    # Failures

    def _note_failure(self, index: int) -> None:
        """An instance has failed: so has its node, and what waits for the instance can never begin."""
        node = self._keys[index].node
        for group, failed in zip(self._expansion.groups, self._failed_nodes, strict=True):
            if node in group.nodes:
                failed.add(node)
        if self.is_halted and self._execution.tokens[self._places[plan_net.GO]]:
            self._put(plan_net.GO, -1)
        rest = [
            other
            for other in sorted(self._waiting.get(node, set()) | self._away.get(node, set()))
            if not task_of(self._expansion, self._expansion.instances[other]).is_always
        ]
        for other in rest:
            self._drop(other, index)
        self._follow([index, *rest], index)

    def _follow(self, ended: list[int], cause: int) -> None:
        """Drop everything that waits for instances which have not succeeded."""
        queue = list(ended)
        while queue:
            for user in self._users.find_hopeless(queue.pop(), self._statuses):
                if self._statuses[user] in (Status.WAITING, Status.AWAY) and self._keys[user].node != SYNC_NODE:
                    self._drop(user, cause)
                    queue.append(user)

    def _drop(self, index: int, cause: int) -> None:
        before, self._statuses[index] = self._statuses[index], Status.DROPPED
        self._open -= 1
        self._leave(index, before)
        self._put(plan_net.ended(index), 1)
        self._unreachable.append(Unreachable(self._keys[index], self._keys[cause]))

    def _leave(self, index: int, before: Status) -> None:
        node = self._keys[index].node
        if before is Status.WAITING:
            self._waiting[node].discard(index)
            self._put(plan_net.to_do(index), -1)
        else:
            self._away[node].discard(index)

    def _set_away(self, index: int) -> None:
        self._statuses[index] = Status.AWAY
        self._away[self._keys[index].node].add(index)

    # Marking

    def _count_done(self, index: int) -> None:
        """Give the tokens that the success of an instance gives which has not had its turn."""
        for place in self._done_places(index):
            self._put(place, 1)

    def _done_places(self, index: int) -> Iterable[str]:
        yield plan_net.done(index)
        yield from self._users.find_sets(index)
        task, node = self._keys[index]
        if self._expansion.canaries.get(task) == node:
            yield plan_net.canary_passed(task)

    def _put(self, place: str, count: int) -> None:
        """Add tokens to a place, or take some; a place that nothing reads does not exist."""
        number = self._places.get(place)
        if number is not None:
            self._execution.put(number, count)

    def _restore(self, approved: set[int], is_going: bool) -> Execution:
        """The execution with the marking that the statuses mean. Stages and joints follow from it by themselves."""
        tokens = list(self._net.initial)
        running: list[int] = []
        for index, (key, status) in enumerate(zip(self._keys, self._statuses, strict=True)):
            if key.node == SYNC_NODE:
                continue
            if status is Status.WAITING:
                self._waiting[key.node].add(index)
            elif status is Status.AWAY:
                self._away[key.node].add(index)
            elif status is Status.RUNNING:
                running.append(index)
            self._open += status not in ENDED
            self._mark(tokens, index, status)
        for task in approved:
            if plan_net.approved(task) in self._places:
                tokens[self._places[plan_net.approved(task)]] = 1
        tokens[self._places[plan_net.GO]] = int(is_going)
        self._running = set(running)
        snapshot = {
            "format": FORMAT,
            "net": self._net.digest,
            "tokens": tokens,
            "running": sorted(running),
            "latest": "0" * len(self._net.declared.transitions),
            "ended": 0,
        }
        return Execution.restore(self._net, snapshot)

    def _mark(self, tokens: list[int], index: int, status: Status) -> None:
        places, key = self._places, self._keys[index]
        if status is not Status.WAITING:
            tokens[places[plan_net.to_do(index)]] = 0
        if status is Status.RUNNING:
            for place in (plan_net.node_place(key.node), plan_net.task_slots(key.task), plan_net.SLOTS):
                if place in places:
                    tokens[places[place]] = max(0, tokens[places[place]] - 1)
        given = [plan_net.ended(index)] if status in ENDED else []
        given += self._done_places(index) if status is Status.DONE else ()
        for place in given:
            if place in places:
                tokens[places[place]] += 1
