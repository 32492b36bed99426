"""What must be true of a run of a plan after every single step of a server, by the stored attempts and the definition of its plan.

It reads the expansion's dependencies and shares no code with what drives a run.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from precast.plans.model import Expansion, Instance, InstanceKey, PlanTask
from precast.services.plans.pinned import PinnedPlan
from precast.store.engine.query import Query, Transaction
from precast.wire.jobs import states

ATTEMPTS = Query(
    "test.plan_attempts",
    "SELECT task, node, n, state, reason, ordered_at, late FROM attempt WHERE job = :job AND is_newest = 1 ORDER BY task, node",
)
FAILURES = (states.FAILED, states.EXPIRED)
PASSED = (states.CONDITION, states.NOT_CHOSEN, states.NO_WORK)


class Newest(NamedTuple):
    """The newest attempt of an instance."""

    n: int
    state: str
    reason: str | None
    has_turn: bool
    late: str | None

    @property
    def is_open(self) -> bool:
        return self.state in states.OPEN_STATES

    @property
    def is_at_work(self) -> bool:
        return self.state == states.PICKED_UP or (self.state == states.QUEUED and self.has_turn)

    @property
    def is_done(self) -> bool:
        """Whether it has succeeded, or was left out."""
        late = self.state in FAILURES and self.late == states.COMPLETED
        return late or self.state == states.COMPLETED or (self.state == states.SKIPPED and self.reason in PASSED)


Attempts = Mapping[InstanceKey, Newest]


def read_attempts(job: str) -> Transaction[Attempts]:
    return {
        InstanceKey(task, node): Newest(n, state, reason, ordered is not None, late)
        for task, node, n, state, reason, ordered, late in (yield ATTEMPTS(job=job))
    }


class RunChecks:
    """Checks one run, step by step."""

    def __init__(self, pinned: PinnedPlan, at_once: int | None) -> None:
        self.expansion: Expansion = pinned.expand()
        self._at_once = at_once
        self._instances = {instance.key: instance for instance in self.expansion.instances}
        self._skipped = pinned.find_skipped()
        self.before: Attempts = {}

    def check(self, now: Attempts, round_: int, approved: set[int]) -> None:
        """Check what has changed since the last call."""
        before, self.before = self.before, now
        self._check_limits(now)
        for key, newest in now.items():
            earlier = before.get(key)
            if earlier is not None and earlier.n == newest.n and earlier.has_turn:
                continue
            if newest.has_turn:
                self._check_turn(key, before, now, round_, approved)

    def _check_limits(self, now: Attempts) -> None:
        at_work = [key for key, newest in now.items() if newest.is_at_work]
        nodes = Counter(key.node for key in at_work)
        assert max(nodes.values(), default=0) <= 1, f"several tasks on one node: {at_work}"
        for task, most in self.expansion.at_once.items():
            assert sum(key.task == task for key in at_work) <= most, f"more than {most} at once: {at_work}"
        assert self._at_once is None or len(at_work) <= self._at_once, f"more than {self._at_once} nodes: {at_work}"

    def _check_turn(self, key: InstanceKey, before: Attempts, now: Attempts, round_: int, approved: set[int]) -> None:
        task = self._task(key)
        assert key not in self._skipped, f"{key} was left out and began"
        assert not task.approval or key.task in approved, f"{key} began without approval"
        self._check_order(self._instances[key], now, must_succeed=not task.is_always)
        canary = self._find_canary(key.task)
        assert canary in (None, key) or self._counts_as_done(canary, now), f"{key} began before its canary"
        if task.is_always:
            return
        failed = self._find_failed(before, round_)
        assert key.node not in failed, f"{key} began on a node that has failed"
        for group in self.expansion.groups:
            assert group.tolerate is None or len(failed & group.nodes) <= group.tolerate, f"{key} began past {group}"

    def _check_order(self, instance: Instance, now: Attempts, *, must_succeed: bool) -> None:
        """All that an instance waits for, through stages, has succeeded; or for one that runs always, has ended."""
        joined = [member for joint in instance.joins for member in self.expansion.joints[joint]]
        for index in (*instance.needs, *joined):
            assert self._is_met(index, now, must_succeed=must_succeed), f"{instance.key} before {self._key(index)}"
        for members in instance.needs_any:
            met = [self._is_met(index, now, must_succeed=must_succeed) for index in members]
            assert any(met) if must_succeed else all(met), f"{instance.key} before all of {members}"

    def _is_met(self, index: int, now: Attempts, *, must_succeed: bool) -> bool:
        key = self._key(index)
        if key.node:
            return self._counts_as_done(key, now) if must_succeed else not now[key].is_open
        instance = self._instances[key]  # a stage waits for the end of what is before it
        joined = [member for joint in instance.joins for member in self.expansion.joints[joint]]
        members = [member for one_of in instance.needs_any for member in one_of]
        return all(self._is_met(member, now, must_succeed=False) for member in (*instance.needs, *joined, *members))

    def _counts_as_done(self, key: InstanceKey, now: Attempts) -> bool:
        return now[key].is_done or (now[key].state in FAILURES and not self._task(key).fail_on_error)

    def _find_failed(self, attempts: Attempts, round_: int) -> set[str]:
        """The nodes that have failed in this round."""
        return {
            key.node
            for key, newest in attempts.items()
            if newest.n == round_ and newest.state in FAILURES and self._task(key).fail_on_error
        }

    def _find_canary(self, task: int) -> InstanceKey | None:
        if task not in self.expansion.canaries:
            return None
        return next(key for key in self._instances if key.task == task and key not in self._skipped)

    def _task(self, key: InstanceKey) -> PlanTask:
        return self.expansion.plan.tasks[key.task - 1]

    def _key(self, index: int) -> InstanceKey:
        return self.expansion.instances[index].key
