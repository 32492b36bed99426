"""Who waits for whom among the instances of an expansion: the way that failures go."""

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum

from precast.plans import plan_net
from precast.plans.model import Expansion
from precast.plans.plan_net import waits_for_ends


class Status(Enum):
    """Where an instance is. DONE: nobody has to wait for it any more. DROPPED: it has ended without having begun."""

    WAITING = "waiting"
    AWAY = "away"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DROPPED = "dropped"


ENDED = (Status.DONE, Status.FAILED, Status.DROPPED)


class InstanceUsers:
    """Who waits for whom, by index: the way that failures go."""

    def __init__(self, expansion: Expansion) -> None:
        self._expansion = expansion
        self._direct: dict[int, list[int]] = defaultdict(list)
        self._joints_of: dict[int, list[int]] = defaultdict(list)
        self._joint_users: dict[int, list[int]] = defaultdict(list)
        self._sets_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._canary_users: dict[int, list[int]] = defaultdict(list)
        for joint, members in enumerate(expansion.joints):
            for member in members:
                self._joints_of[member].append(joint)
        canary_of: dict[int, list[int]] = defaultdict(list)
        for index, instance in enumerate(expansion.instances):
            for number, members in enumerate(instance.needs_any):
                for member in members:
                    self._sets_of[member].append((index, number))
            if not waits_for_ends(expansion, instance):
                for needed in instance.needs:
                    self._direct[needed].append(index)
                for joint in instance.joins:
                    self._joint_users[joint].append(index)
            if instance.key.task in expansion.canaries:
                canary_of[instance.key.task].append(index)
        for task, indexes in canary_of.items():
            first = next(index for index in indexes if expansion.instances[index].key.node == expansion.canaries[task])
            self._canary_users[first] = [index for index in indexes if index != first]

    def find_sets(self, index: int) -> Iterable[str]:
        """The places of the sets of which an instance is a member."""
        return (plan_net.one_of(user, number) for user, number in self._sets_of.get(index, ()))

    def find_hopeless(self, index: int, statuses: list[Status]) -> Iterable[int]:
        """The instances that can never begin because this one has not succeeded."""
        yield from self._direct.get(index, ())
        yield from self._canary_users.get(index, ())
        for joint in self._joints_of.get(index, ()):
            yield from self._joint_users.get(joint, ())
        for user, number in self._sets_of.get(index, ()):
            instance = self._expansion.instances[user]
            members = instance.needs_any[number]
            if not waits_for_ends(self._expansion, instance) and all(
                statuses[member] in (Status.FAILED, Status.DROPPED) for member in members
            ):
                yield user
