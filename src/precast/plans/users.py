"""Who waits for whom among the instances of an expansion: the way that failures go."""

from collections import defaultdict
from collections.abc import Container
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
NOT_BEGUN = frozenset({Status.WAITING, Status.AWAY})


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

    def list_hopeless(self, index: int) -> list[list[int]]:
        """The instances that can never begin because this one has not succeeded, in several lists; some may have been found before.

        It is called once for each instance that ends without success.
        """
        found = [self._direct.pop(index, [])]
        found += [self._joint_users.pop(joint, []) for joint in self._joints_of.get(index, ())]
        for number in self._sets_of.get(index, ()):
            self._left[number] -= 1
            if not self._left[number]:
                found.append(self._set_users[number])
        return [users for users in found if users]
