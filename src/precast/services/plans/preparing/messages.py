"""The messages between a server and the child process that loads, expands and checks a plan."""

from typing import Any

import msgspec

from precast.plans.model import ComputedResult, Plan, PlanNode, PlanProblem, PlanTask
from precast.services.plans.pinned import GateNeed, SkippedTask
from precast.wire.plans.bodies import SubsetBody


class SourceText(msgspec.Struct, frozen=True):
    """A file of a plan."""

    path: str
    text: str
    layer: int = 0


class PlanningRequest(msgspec.Struct, frozen=True):
    """A plan over nodes. `others` are the plans that it may include, by name."""

    name: str
    texts: list[SourceText]
    nodes: list[PlanNode]
    given: dict[str, Any]
    subset: SubsetBody
    others: dict[str, list[SourceText]] = {}
    before: list[PlanTask] = []  # the tasks whose numbers the plan's tasks keep, by their ids
    computed: list[ComputedResult] | None = (
        None  # what its expressions give as dependencies; None if that is not known yet
    )
    inherited: dict[
        str, Any
    ] = {}  # values that an earlier version of the plan was given: for parameters that it still has


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
