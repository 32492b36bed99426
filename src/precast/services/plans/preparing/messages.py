"""The messages between a server and the child process that loads, expands and checks a plan."""

from typing import Any

import msgspec

from precast.plans.comparison import PlanComparison
from precast.plans.model import ComputedResult, Plan, PlanNode, PlanProblem
from precast.services.plans.pinned import GateNeed, SkippedTask
from precast.wire.plans.bodies import SubsetBody


class SourceText(msgspec.Struct, frozen=True):
    """A file of a plan."""

    path: str
    text: str
    layer: int = 0


class EarlierPlan(msgspec.Struct, frozen=True):
    """The version of a plan that a run has pinned, over the nodes as they were then."""

    plan: Plan
    nodes: list[PlanNode]
    computed: list[ComputedResult]
    given: dict[str, Any]  # values of its parameters: another version inherits those that it still has


class PlanningRequest(msgspec.Struct, frozen=True):
    """A plan over nodes. `others` are the plans that it may include, by name."""

    name: str
    texts: list[SourceText]
    nodes: list[PlanNode]
    given: dict[str, Any]
    subset: SubsetBody
    others: dict[str, list[SourceText]] = {}
    before: EarlierPlan | None = None  # whose numbers the plan's tasks keep, by their ids
    computed: list[ComputedResult] | None = (
        None  # what its expressions give as dependencies; None if that is not known yet
    )


class PlanningAnswer(msgspec.Struct, frozen=True):
    """The plan, with all its problems; a plan with errors may be incomplete or missing. `instances` do not count stages.

    A plan with dependencies that expressions give is expanded only if the request has what they give.
    """

    plan: Plan | None
    errors: list[PlanProblem]
    warnings: list[PlanProblem]
    parameters: dict[str, Any] = {}
    given: dict[str, Any] = {}  # those of the parameters that are no defaults
    placed: list[list[str]] = []  # the nodes of each task
    not_chosen: list[SkippedTask] = []
    instances: int = 0
    gates: dict[int, list[GateNeed]] = {}
    is_expanded: bool = True
    comparison: PlanComparison | None = None  # with the version before
