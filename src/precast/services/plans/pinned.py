"""What a run of a plan has pinned at its start: the plan, its nodes, what is left out and why, the catalogs.

A resume uses exactly this, whatever has changed since; a rebase replaces it. The expansion is not stored: it is always the same for the
same plan over the same nodes.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from precast.plans.expansion import expand
from precast.plans.model import ComputedResult, Expansion, InstanceKey, Plan, PlanNode
from precast.wire.jobs.orders import Mode
from precast.wire.plans.bodies import SubsetBody


class SkippedTask(msgspec.Struct, frozen=True):
    """Nodes on which a task does not run, and why: a reason of `wire.jobs.states`."""

    task: int
    reason: str
    nodes: list[str]


class ComparedData(msgspec.Struct, frozen=True):
    """Nodes on which expressions of a task compared with data of an earlier run, by its digest. It may have been deleted since."""

    task: int
    data: str
    nodes: list[str]


class GateNeed(msgspec.Struct, frozen=True):
    """A task that has to end before a person is asked about another: on all of its nodes, or on one."""

    task: int
    is_everywhere: bool
    may_fail: bool  # its end is enough, also without success


class PinnedPlan(msgspec.Struct, frozen=True):
    """The document of a run. `catalogs` are versions by node: by entry point, and the released one by ""."""

    plan: Plan
    environment: str
    nodes: list[PlanNode]
    master: str = ""
    subset: SubsetBody = SubsetBody()
    parameters: dict[str, Any] = {}
    mode: Mode = "enforce"
    skipped: list[SkippedTask] = []
    catalogs: dict[str, dict[str, str]] = {}
    gates: dict[int, list[GateNeed]] = {}  # by the number of a task with an approval
    computed: list[ComputedResult] = []  # the dependencies that expressions of the plan have given
    given: dict[str, Any] = {}  # the parameters that are no defaults
    compared: list[ComparedData] = []
    # Of a run that repeats one task: the run that the task is of, and the inputs that it had there.
    replays: str = ""
    inputs: dict[str, Any] | None = None

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    def expand(self) -> Expansion:
        """The expansion of the plan over its nodes. It has been checked when the run was started."""
        return expand(self.plan, self.nodes, self.computed)

    def find_compared(self, task: str, node: str) -> str | None:
        """The digest of the data with which the expressions of a task, by its id, compared on a node."""
        titles = [one.id for one in self.plan.tasks]
        rows = (row for row in self.compared if titles[row.task - 1] == task and node in row.nodes)
        return next((row.data for row in rows), None)

    def find_skipped(self) -> Mapping[InstanceKey, str]:
        """The reason by instance, of those that do not run."""
        return {InstanceKey(skipped.task, node): skipped.reason for skipped in self.skipped for node in skipped.nodes}


def decode_pinned(document: bytes) -> PinnedPlan:
    return msgspec.json.decode(document, type=PinnedPlan)
