"""A second, simple implementation of a run of a plan: everything is computed again from the statuses of the instances.

It shares no code with the product but the values. It has no net, no joints, no counters: what may begin and what never can are asked of the
definitions, instance by instance, until nothing changes. It is slow, and that is fine.
"""

from collections import Counter
from collections.abc import Iterable

from precast.plans.model import Expansion, Instance, InstanceKey, PlanTask
from precast.plans.users import Status

ENDED = (Status.DONE, Status.FAILED, Status.DROPPED)
LOST = (Status.FAILED, Status.DROPPED)


class RunModel:
    """The state of one run."""

    def __init__(self, expansion: Expansion, skipped: set[InstanceKey], at_once: int | None, *, is_going: bool) -> None:
        self.expansion, self.skipped, self.at_once, self.is_going = expansion, skipped, at_once, is_going
        self.statuses = {instance.key: Status.WAITING for instance in expansion.instances if instance.key.node}
        self.approved: set[int] = set()
        self.dropped: set[InstanceKey] = set()  # since somebody emptied it
        self._instances = {instance.key: instance for instance in expansion.instances}
        self._keys = [instance.key for instance in expansion.instances]

    # What happens

    def note(self, key: InstanceKey, status: Status) -> None:
        """An instance has this status; what can never begin because of it is dropped."""
        self.statuses[key] = status
        while found := {
            other for other, is_at in self.statuses.items() if self._is_open(is_at) and self.is_hopeless(other)
        }:
            self.dropped |= found
            self.statuses.update(dict.fromkeys(found, Status.DROPPED))

    def hold(self, nodes: Iterable[str]) -> None:
        for key, status in self.statuses.items():
            if status is Status.WAITING and key.node in nodes and key not in self.skipped:
                self.statuses[key] = Status.AWAY

    def return_nodes(self, nodes: Iterable[str]) -> bool:
        back = [key for key, status in self.statuses.items() if status is Status.AWAY and key.node in nodes]
        self.statuses.update(dict.fromkeys(back, Status.WAITING))
        return bool(back)

    # What is so

    def startable(self) -> list[InstanceKey]:
        """What may begin now, each on its own, in the order of the expansion."""
        return [
            key for key, status in sorted(self.statuses.items(), key=self._position) if self._may_start(key, status)
        ]

    def list_keys(self, *statuses: Status) -> list[InstanceKey]:
        return [key for key in self._keys if self.statuses.get(key) in statuses]

    def at_work(self) -> list[InstanceKey]:
        return [key for key in self.list_keys(Status.RUNNING) if key not in self.skipped]

    @property
    def is_halted(self) -> bool:
        failed = {key.node for key in self.list_keys(Status.FAILED)}
        return any(
            group.tolerate is not None and len(failed & group.nodes) > group.tolerate for group in self.expansion.groups
        )

    def is_hopeless(self, key: InstanceKey) -> bool:
        """Whether an instance that has not begun never can."""
        instance, is_always = self._instances[key], self._task(key).is_always
        if not is_always and any(other.node == key.node for other in self.list_keys(Status.FAILED)):
            return True
        if key not in self.skipped and self._canary_status(key) in LOST:
            return True
        if is_always:
            return False
        lost_all = any(all(self._is_lost(member) for member in members) for members in instance.needs_any)
        return lost_all or any(self._is_lost(needed) for needed in self._all_needed(instance))

    def _may_start(self, key: InstanceKey, status: Status) -> bool:
        task, instance = self._task(key), self._instances[key]
        if status is not Status.WAITING or not self._are_met(instance, is_always=task.is_always):
            return False
        if not task.is_always and (self.is_halted or not self.is_going):
            return False
        if self.at_once is not None and len(self.at_work()) >= self.at_once:
            return False
        if key in self.skipped:
            return True
        working = Counter(other.task for other in self.at_work())
        return (
            all(other.node != key.node for other in self.at_work())
            and working[key.task] < self.expansion.at_once.get(key.task, 10**9)
            and (not task.approval or key.task in self.approved)
            and self._canary_status(key) in (None, Status.DONE)
        )

    def _are_met(self, instance: Instance, *, is_always: bool) -> bool:
        if is_always or not instance.key.node:
            members = [member for one_of in instance.needs_any for member in one_of]
            return all(self._has_ended(index) for index in (*self._all_needed(instance), *members))
        return all(self._is_done(index) for index in self._all_needed(instance)) and all(
            any(self._is_done(member) for member in members) for members in instance.needs_any
        )

    def _all_needed(self, instance: Instance) -> list[int]:
        return [*instance.needs, *(member for joint in instance.joins for member in self.expansion.joints[joint])]

    def _is_done(self, index: int) -> bool:
        key = self._keys[index]
        return (
            self._are_met(self._instances[key], is_always=False) if not key.node else self.statuses[key] is Status.DONE
        )

    def _has_ended(self, index: int) -> bool:
        key = self._keys[index]
        return self._is_done(index) if not key.node else self.statuses[key] in ENDED

    def _is_lost(self, index: int) -> bool:
        key = self._keys[index]
        return bool(key.node) and self.statuses[key] in LOST

    def _canary_status(self, key: InstanceKey) -> Status | None:
        """The status of the canary that an instance waits for."""
        if key.task not in self.expansion.canaries:
            return None
        canary = next(other for other in self._keys if other.task == key.task and other not in self.skipped)
        return None if canary == key else self.statuses[canary]

    def _task(self, key: InstanceKey) -> PlanTask:
        return self.expansion.plan.tasks[key.task - 1]

    def _position(self, item: tuple[InstanceKey, Status]) -> int:
        return self._keys.index(item[0])

    @staticmethod
    def _is_open(status: Status) -> bool:
        return status in (Status.WAITING, Status.AWAY)
