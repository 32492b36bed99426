"""`precast plan explain`: why a task is where it is, and what bounds it."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from precast.base.spans import visible
from precast.cli.console.output import print_json
from precast.cli.plans.local_commands import EXIT_BROKEN
from precast.cli.plans.local_plan import describe_nodes
from precast.cli.plans.seen_plan import look_at
from precast.net.model.durations import format_duration
from precast.plans.explanation import Explanation, GroupLimit, NodeRun, explain_task
from precast.plans.views.descriptions import count, list_names
from precast.plans.views.reach import Reach
from precast.plans.views.seen_values import SeenRun, find_paths
from precast.plans.views.waits import Reason, Wait

MOST_CHARS = 100


def run(args: argparse.Namespace) -> int:
    """Explain a task of a plan, or of a run. Raises InputError PLAN-035 if there is no such task."""
    seen = look_at(args)
    if seen is None:
        return EXIT_BROKEN
    instances = seen.list_instances()
    has_seen = any(find_paths(task) for task in seen.local.plan.tasks if task.id == args.task)
    nodes = [instance.node for instance in instances if has_seen and instance.task == args.task]
    data = {node: seen.read_data(node, args.task) for node in nodes}
    found = explain_task(seen.local.expansion, args.task, SeenRun(instances, data, seen.parameters))
    if args.json:
        print_json(msgspec.to_builtins(found))
        return 0
    for line in describe_explanation(found):
        print(visible(line))
    print(visible(f"over {describe_nodes(seen.local.nodes)}"))
    return 0


def describe_explanation(found: Explanation) -> Iterator[str]:
    """The lines that explain a task."""
    place = f", number {found.position} of {found.instances} in the order" if found.position is not None else ""
    yield f"{found.id}: {found.type}, {found.at.file}:{found.at.line}{place}"
    yield from _describe_places(found)
    yield from _describe_waits("waits for", found.waits_for, found.before)
    yield from _describe_waits("is waited for by", found.waited_for_by, found.after)
    yield from (f"  {field}: joins it with no task on these nodes" for field in found.idle)
    yield from (f"  {field}: computed on each node" for field in found.computed)
    yield from _describe_gates(found)
    yield from _describe_limits(found)
    yield from (line for run in found.run for line in _describe_run(run))


def _describe_places(found: Explanation) -> Iterator[str]:
    if found.position is None:
        yield "runs on no node"
    for place in found.places:
        nodes = f": {list_names(place.nodes)}" if place.nodes else ""
        yield place.because if found.type == "stage" else f"runs on {place.because}{nodes or ': no node'}"


def _describe_waits(verb: str, waits: Sequence[Wait], reach: Reach) -> Iterator[str]:
    if not waits:
        yield f"{verb} nothing"
        return
    yield f"{verb}:"
    for wait in waits:
        yield f"  {wait.task}, {_describe_kind(wait)}"
        reasons = dict.fromkeys(map(_describe_reason, wait.reasons))  # two inputs may come from the same task
        yield from (f"    because of {reason}" for reason in reasons)
    instances = f", {reach.instances} on nodes" if reach.instances else ""
    yield f"  in all, directly or through others: {count(reach.tasks, 'task')}{instances}"


def _describe_kind(wait: Wait) -> str:
    if wait.kind == "stage":
        nodes = [*wait.nodes, *wait.needed_on]  # a stage has none, so these are of the task that is no stage
        return f"through a stage, on {list_names(nodes)}" if nodes else "stage after stage"
    if wait.kind == "same node":
        return f"on the same node ({list_names(wait.nodes)})"
    which = "on" if len(wait.needed_on) == 1 else "on one of" if wait.kind == "any node" else "on all of"
    return f"{which} {list_names(wait.needed_on)}, for {list_names(wait.nodes)}"


def _describe_reason(reason: Reason) -> str:
    return f"{reason.field}: {reason.name} of {reason.task}, {reason.at.file}:{reason.at.line}"


def _describe_gates(found: Explanation) -> Iterator[str]:
    if found.condition:
        yield f"runs only if {' '.join(found.condition.split())}"
    if found.approval:
        yield f"waits for a person: {found.approval}"
    yield from (f"test before: {test}" for test in found.tests_before)
    yield from (f"test after: {test}" for test in found.tests_after)
    yield from (f"input {name}: {given}" for name, given in found.inputs.items())
    if found.produces:
        yield f"produces {', '.join(found.produces)}"
    if found.consumes:
        yield f"consumes {', '.join(found.consumes)}"
    if found.is_always:
        yield "runs whatever happened before it"
    if found.ignores_failure:
        yield "a failure counts as skipped"


def _describe_limits(found: Explanation) -> Iterator[str]:
    limits = found.limits
    if found.type == "stage":
        return
    if limits.at_once is not None:
        yield f"at most {count(limits.at_once, 'node')} at once"
    if limits.canary is not None:
        yield f"first on {limits.canary} alone"
    repeats = f", repeated up to {limits.retries} times" if limits.retries else ""
    yield f"may take {format_duration(round(limits.timeout_s * 1_000))}{repeats}"
    yield from map(_describe_group, limits.groups)


def _describe_run(run: NodeRun) -> Iterator[str]:
    """What became of the task on a node, and what it saw there."""
    reason = run.reason if run.reason and run.reason.replace("-", "_") != run.state else ""
    parts = [run.state, *([reason] if reason else []), *([run.message] if run.message else [])]
    cause = f", because of {run.cause}" if run.cause else ""
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    yield f"on {run.node}: {', '.join(parts)}{cause}{attempt}"
    for name, value in run.data.items():
        yield f"  saw {name}: {_show(value)}{_compare(run.earlier, name, value)}"
    for name, value in run.inputs.items():
        yield f"  got {name}: {_show(value)}"


def _show(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"


def _compare(earlier: Mapping[str, Any] | None, name: str, value: Any) -> str:
    """The value at the last success of the task, if it was compared with that and had one."""
    if earlier is None or name not in earlier:
        return ""
    before = earlier[name]
    return ", as when it last succeeded" if before == value else f"; {_show(before)} when it last succeeded"


def _describe_group(group: GroupLimit) -> str:
    name = f"group {group.group}" if group.group else "nodes in no group"
    many = "any number" if group.tolerate is None else str(group.tolerate) if group.tolerate else "none"
    return f"{name}: {many} of {count(group.nodes, 'node')} may fail before the plan stops"
