"""Who waits for whom among the instances of an expansion: the way that failures go."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from enum import Enum

from precast.plans.model import Expansion, InstanceKey
from precast.plans.plan_net import find_canaries, waits_for_ends


class Status(Enum):
    """Where an instance is.

    DONE: nobody has to wait for it any more. That is also so for a task that has failed and whose failure does not matter
    (`fail_on_error: false`). DROPPED: it has ended without having begun, and is no failure of its node.
    """

    WAITING = "waiting"
    AWAY = "away"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DROPPED = "dropped"


ENDED = frozenset({Status.DONE, Status.FAILED, Status.DROPPED})


class InstanceUsers:
    """Finds what can never begin, as instances end without success in one run. Each dependency is followed once, however many fail."""

    def __init__(self, expansion: Expansion, skipped: Container[InstanceKey] = ()) -> None:
        self._direct: dict[int, list[int]] = defaultdict(list)
        self._joint_users: dict[int, list[int]] = defaultdict(list)
        self._joints_of: dict[int, list[int]] = defaultdict(list)
        self._set_users: dict[int, list[int]] = defaultdict(list)
        self._sets_of: dict[int, list[int]] = defaultdict(list)
        self._left: dict[int, int] = {}  # by set: how many members may still succeed
        self._add_users(expansion)
        self._add_canaries(expansion, skipped)

    def _add_users(self, expansion: Expansion) -> None:
        sets: dict[int, tuple[int, ...]] = {}  # by the identity of the tuple, which instances share
        for index, instance in enumerate(expansion.instances):
            if waits_for_ends(expansion, instance):
                continue
            for needed in instance.needs:
                self._direct[needed].append(index)
            for joint in instance.joins:
                self._joint_users[joint].append(index)
            for members in instance.needs_any:
                sets[id(members)] = members
                self._set_users[id(members)].append(index)
        for joint in self._joint_users:
            for member in expansion.joints[joint]:
                self._joints_of[member].append(joint)
        for number, members in sets.items():
            self._left[number] = len(members)
            for member in members:
                self._sets_of[member].append(number)

    def _add_canaries(self, expansion: Expansion, skipped: Container[InstanceKey]) -> None:
        canaries = find_canaries(expansion, skipped)
        if canaries:
            for index, instance in enumerate(expansion.instances):
                canary = canaries.get(instance.key.task, index)
                if canary != index and instance.key not in skipped:
                    self._direct[canary].append(index)

    def find_hopeless(self, index: int) -> Iterator[int]:
        """The instances that can never begin because this one has not succeeded; some that have been found already are found again.

        It is called once for each instance that ends without success.
        """
        yield from self._direct.get(index, ())
        for joint in self._joints_of.get(index, ()):
            yield from self._take_users(self._joint_users, joint)
        for number in self._sets_of.get(index, ()):
            self._left[number] -= 1
            if not self._left[number]:
                yield from self._take_users(self._set_users, number)

    def _take_users(self, users: dict[int, list[int]], number: int) -> Iterable[int]:
        """The users of a joint or a set. After that it has none, because all of them are hopeless."""
        return users.pop(number, ())
