"""One run of an expansion: which instance begins next, and which can never begin because others have failed.

The net (`plan_net`) says what may begin. This module adds what follows from a failure: the other tasks of the node that failed, and every
instance that waits for one that has not succeeded, are *unreachable*; they leave the net, with the failure that is their cause. A stage,
and a task that runs always, wait only for the end of what is before them. A task with a canary that has not succeeded begins on no other
node, even if it runs always.

A skipped instance, because it was not chosen or because of its condition, keeps its place: it gets its turn when everything before it is
done, and ends at once. It needs no node, so it waits for none that is away, and it counts towards no limit.

The run stays in memory while a server drives it. A server that takes it over computes the same state from the states of the instances: both
let the same instances begin, in the same order.
"""

from collections import defaultdict, deque
from collections.abc import Container, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.plans.model import SYNC_NODE, Expansion, InstanceKey
from precast.plans.plan_net import NO_LIMITS, PlanLimits, build_plan_net, task_of
from precast.plans.users import ENDED, NOT_BEGUN, InstanceUsers, Status

# How many unreachable instances one call looks for: some 5 ms of work. More are returned only if a node with more tasks has failed.
MAX_UNREACHABLE = 1_000


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
        skipped: Container[InstanceKey] = (),
    ) -> None:
        """Instances without a status are waiting. `approved` are the numbers of tasks that a person has let go.

        `skipped` are all instances that are skipped, whether they have ended or not. If the run is not going, only tasks that run
        always begin.
        """
        self._expansion, self._skipped, self._at_once = expansion, skipped, limits.at_once
        self._keys = [instance.key for instance in expansion.instances]
        self._numbers = {key: index for index, key in enumerate(self._keys)}
        self._statuses = [statuses.get(key, Status.WAITING) for key in self._keys]
        self._waiting: dict[str, set[int]] = defaultdict(set)
        self._away: dict[str, set[int]] = defaultdict(set)
        self._running: set[int] = set()
        self._parked: set[int] = set()  # those that only wait for values of others
        self._busy = 0  # how many of them are at work, without those that are parked
        self._open = 0  # instances on nodes that have not ended
        self._failures: dict[str, int] = {}  # by node that has failed: the first instance that has
        self._failed_counts = [0] * len(expansion.groups)
        self._unreachable: list[Unreachable] = []
        self._to_follow: deque[tuple[list[int], int]] = deque()  # what waits for an instance, and the cause
        self._followed = 0  # of the first of these lists
        self._users = InstanceUsers(expansion, skipped)
        self._net, self._places = build_plan_net(expansion, skipped)
        self._sort_by_status()
        self._execution = Execution.at_marking(self._net, self._mark(set(approved), is_going), sorted(self._running))
        self._follow_ends()

    # What happens

    def start_next(self) -> InstanceKey | None:
        """Start the next instance and return it; None if none may start now. A skipped one is to be ended at once, as DONE."""
        if self._at_once is not None and self._busy >= self._at_once:
            return None
        index = self._execution.start_next()
        if index is None:
            return None
        key = self._keys[index]
        self._statuses[index] = Status.RUNNING
        self._waiting[key.node].discard(index)
        self._running.add(index)
        self._busy += key not in self._skipped
        return key

    def end(self, key: InstanceKey, status: Status) -> None:
        """An instance has ended, whether it had begun or not. What is known already changes nothing.

        A failure that does not matter (`fail_on_error: false`) is to be told as DONE.
        """
        index = self._numbers.get(key)
        if index is None or self._statuses[index] in ENDED:
            return
        before, self._statuses[index] = self._statuses[index], status
        self._open -= 1
        if before is Status.RUNNING:
            self._stop(index, Outcome.SUCCESS if status is Status.DONE else Outcome.FAILURE)
        else:
            self._leave(index, before)
            self._give(self._places.list_ends(index))
            if status is Status.DONE:
                self._give(self._places.list_gains(index))
        if status is Status.FAILED:
            self._note_failure(index)
        elif status is Status.DROPPED:
            self._follow(index, index)

    def park(self, key: InstanceKey) -> None:
        """An instance that has started has nothing to do but wait for values of others: until it ends it holds no slot, only its node."""
        index = self._numbers[key]
        if index in self._running and index not in self._parked:
            self._parked.add(index)
            self._busy -= 1
            self._put_slot(index, 1)

    def _put_slot(self, index: int, count: int) -> None:
        slot = self._places.slots.get(self._keys[index].task)
        if slot is not None:
            self._execution.put(slot, count)

    def postpone(self, key: InstanceKey) -> None:
        """The node of an instance that has started is away: the instance frees its places, and waits unless its node has failed."""
        index = self._numbers[key]
        if self._statuses[index] is Status.RUNNING:
            self._stop(index, Outcome.SKIPPED)
            self._statuses[index] = Status.AWAY
            self._away[key.node].add(index)
            if key.node in self._failures and not self._is_always(index):
                self._drop(index, self._failures[key.node])

    def hold(self, nodes: Iterable[str]) -> None:
        """Nothing may begin on these nodes for now, as though they were away."""
        for node in nodes:
            held = {index for index in self._waiting.get(node, ()) if self._keys[index] not in self._skipped}
            self._waiting[node] -= held
            self._away[node] |= held
            for index in held:
                self._statuses[index] = Status.AWAY
                self._execution.put(self._places.to_do[index], -1)

    def return_nodes(self, nodes: Iterable[str]) -> bool:
        """Nodes are back; whether any of them was waited for."""
        has_changed = False
        for node in set(nodes) & self._away.keys():
            held = self._away.pop(node)
            self._waiting[node] |= held
            has_changed |= bool(held)
            for index in held:
                self._statuses[index] = Status.WAITING
                self._execution.put(self._places.to_do[index], 1)
        return has_changed

    def approve(self, task: int) -> None:
        """A person lets a task go; a second approval changes nothing."""
        place = self._places.approved.get(task)
        if place is not None and not self._execution.tokens[place]:
            self._execution.put(place, 1)

    def take_unreachable(self) -> list[Unreachable]:
        """The instances that can never begin any more, once each. They have left the net; their ends need no further call.

        A failure may concern all the rest of a run, so one call finds about 1,000 of them: call again until there are none.
        """
        self._drop_hopeless()
        found, self._unreachable = self._unreachable, []
        return found

    # What is so

    @property
    def is_halted(self) -> bool:
        """Whether too many nodes of a group have failed."""
        return any(
            group.tolerate is not None and count > group.tolerate
            for group, count in zip(self._expansion.groups, self._failed_counts, strict=True)
        )

    @property
    def is_over(self) -> bool:
        """Whether all instances on nodes have ended."""
        return not self._open

    @property
    def running(self) -> list[InstanceKey]:
        return [self._keys[index] for index in sorted(self._running)]

    @property
    def running_count(self) -> int:
        return len(self._running)

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

    def _follow_ends(self) -> None:
        """Find what follows from the ends so far: from failures first, because those are the causes that people look for."""
        failed, dropped = (
            [index for index, status in enumerate(self._statuses) if status is wanted]
            for wanted in (Status.FAILED, Status.DROPPED)
        )
        for index in failed:
            self._note_failure(index)
        for index in dropped:
            self._follow(index, index)

    def _note_failure(self, index: int) -> None:
        """An instance has failed: so has its node, and what waits for the instance can never begin."""
        node = self._keys[index].node
        if node not in self._failures:
            self._failures[node] = index
            for number, group in enumerate(self._expansion.groups):
                self._failed_counts[number] += node in group.nodes
        if self.is_halted and self._execution.tokens[self._places.go]:
            self._execution.put(self._places.go, -1)
        for other in sorted(self._waiting[node] | self._away[node]):
            if not self._is_always(other):
                self._drop(other, index)
        self._follow(index, index)

    def _is_always(self, index: int) -> bool:
        return task_of(self._expansion, self._expansion.instances[index]).is_always

    def _follow(self, index: int, cause: int) -> None:
        """Let `take_unreachable` drop everything that waits for an instance, which has ended without success."""
        self._to_follow += [(users, cause) for users in self._users.list_hopeless(index)]

    def _drop_hopeless(self) -> None:
        """Drop instances that can never begin, up to the limit."""
        while self._to_follow and len(self._unreachable) < MAX_UNREACHABLE:
            users, cause = self._to_follow[0]
            for index in islice(users, self._followed, None):
                self._followed += 1
                if self._statuses[index] in NOT_BEGUN:
                    self._drop(index, cause)
                    if len(self._unreachable) >= MAX_UNREACHABLE:
                        break
            if self._followed == len(users):
                self._to_follow.popleft()
                self._followed = 0

    def _drop(self, index: int, cause: int) -> None:
        before, self._statuses[index] = self._statuses[index], Status.DROPPED
        self._open -= 1
        self._leave(index, before)
        self._give(self._places.list_ends(index))
        self._unreachable.append(Unreachable(self._keys[index], self._keys[cause]))
        self._follow(index, cause)

    # Marking

    def _stop(self, index: int, outcome: Outcome) -> None:
        self._running.discard(index)
        self._execution.finish(index, outcome)
        if index in self._parked:
            self._parked.discard(index)
            self._put_slot(index, -1)
        else:
            self._busy -= self._keys[index] not in self._skipped

    def _leave(self, index: int, before: Status) -> None:
        node = self._keys[index].node
        if before is Status.WAITING:
            self._waiting[node].discard(index)
            self._execution.put(self._places.to_do[index], -1)
        else:
            self._away[node].discard(index)

    def _give(self, places: Iterable[int]) -> None:
        """Give the tokens that the end of an instance gives which has not had its turn."""
        for place in places:
            self._execution.put(place, 1)

    def _sort_by_status(self) -> None:
        held = {Status.WAITING: self._waiting, Status.AWAY: self._away}
        for index, (key, status) in enumerate(zip(self._keys, self._statuses, strict=True)):
            if key.node == SYNC_NODE:
                continue
            if status in held:
                held[status][key.node].add(index)
            elif status is Status.RUNNING:
                self._running.add(index)
                self._busy += key not in self._skipped
            self._open += status not in ENDED

    def _mark(self, approved: set[int], is_going: bool) -> list[int]:
        """The marking that the statuses mean. Stages and joints follow from it by themselves."""
        tokens, places = list(self._net.initial), self._places
        for index, (key, status) in enumerate(zip(self._keys, self._statuses, strict=True)):
            if status is Status.WAITING or key.node == SYNC_NODE:
                continue
            tokens[places.to_do[index]] = 0
            given = places.list_ends(index) if status in ENDED else []
            given += places.list_gains(index) if status is Status.DONE else ()
            for place in given:
                tokens[place] += 1
            if status is Status.RUNNING and key not in self._skipped:
                for place in places.list_holds(key):
                    tokens[place] -= 1
        for task in approved & places.approved.keys():
            tokens[places.approved[task]] = 1
        tokens[places.go] = int(is_going)
        return tokens
