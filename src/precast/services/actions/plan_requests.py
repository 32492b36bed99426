"""The plan of an action, as plans are requested. A task of a module is a plan with this one task, on every node of the action."""

import msgspec

from precast.services.actions import issues
from precast.services.actions.parameters import read_values
from precast.wire.actions import bodies
from precast.wire.actions.bodies import NewAction
from precast.wire.plans.bodies import PlanFile, PlanRequest, PlanSource

# The longest time that a task of a plan may take.
MAX_TASK_S = 86_400.0
_FILE = "task.yaml"
# Limits of jobs that plans have in themselves, by the names of options.
_OF_PLANS = {"batch": "--batch", "per_minute": "--per-minute", "tries": "--away try"}


def make_plan_request(new: NewAction) -> PlanRequest:
    """The request of the plan of an action. Raises InputError ACTION-004 or -006."""
    work, limits = new.work, new.limits
    for name, option in _OF_PLANS.items():
        if getattr(limits, name) is not None:
            raise issues.BAD_PLAN.error(kind=work.kind, problem=f"has no {option}")
    request = PlanRequest(
        _read_source(new),
        new.nodes,
        at_once=limits.at_once,
        away_s=limits.away_s,
        why=new.why,
        overrides_window=new.overrides_window,
    )
    if work.plan is None:
        return request
    plan = work.plan
    return msgspec.structs.replace(
        request, master=plan.master, parameters=plan.parameters, subset=plan.subset, mode=work.mode
    )


def _read_source(new: NewAction) -> PlanSource:
    work, limits = new.work, new.limits
    if work.kind == bodies.TASK:
        if not work.task:
            raise issues.BAD_PLAN.error(kind=work.kind, problem="needs the name of a task")
        return _make_task_source(new)
    if work.plan is None:
        raise issues.BAD_PLAN.error(kind=work.kind, problem="needs a plan")
    if limits.canary is not None or limits.tolerate is not None:
        raise issues.BAD_PLAN.error(
            kind=work.kind, problem="has no --canary and no --tolerate: the plan says that itself"
        )
    return work.plan.source


def _make_task_source(new: NewAction) -> PlanSource:
    """The files of a plan with one task: JSON is YAML."""
    work, limits = new.work, new.limits
    if limits.canary not in (None, "1"):
        raise issues.BAD_PLAN.error(kind=work.kind, problem="has a --canary of one node only")
    task = {
        "id": "task",
        "type": "task",
        "parameters": {"task": work.task, "parameters": read_values(work.parameters)},
        "timeout": min(limits.take_s, MAX_TASK_S),
        "strategy": {"type": "parallel", "canary": limits.canary is not None},
    }
    tolerated = "100%" if limits.tolerate is None else limits.tolerate
    group = {"id": "nodes", "type": "group", "roles": ["*"], "tasks": ["task"], "fault_tolerance": tolerated}
    text = msgspec.json.encode({"tasks": [task, group]}).decode()
    return PlanSource(work.task, [PlanFile(_FILE, text)])
