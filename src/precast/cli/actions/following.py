"""Prints actions, and follows the job that an action has started or will start."""

import time

import msgspec

from precast.base.spans import visible
from precast.cli.console.client import Client, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.jobs.options import CHANGED, CHANGED_AND_FAILED, FAILED, UNFINISHED, exit_code
from precast.cli.jobs.options import EXITS as RUN_EXITS
from precast.cli.jobs.progress import Progress
from precast.cli.jobs.watch import watch
from precast.cli.plans.run_progress import RunProgress
from precast.cli.plans.run_watch import PLANS
from precast.cli.plans.run_watch import exit_code as plan_exit_code
from precast.cli.plans.run_watch import watch as watch_plan
from precast.wire.actions.bodies import COMMAND, PLAN, PLAN_KINDS, TASK, ActionView, DueView
from precast.wire.jobs.states import END_STATES, JOB_ENDS, OPEN_STATES
from precast.wire.jobs.views import JobChanges
from precast.wire.plans.bodies import PlanRunView

BASE, COMMAND_BASE = "/v1/actions", "/v1/command-actions"
EXITS = {
    code: text.replace("the run", "the job")
    for code, text in RUN_EXITS.items()
    if code not in (CHANGED, CHANGED_AND_FAILED)
} | {FAILED: "some nodes failed, did not run, or gave no answer; or the action started no job"}
# How long the server may hold one request.
REQUEST_WAIT_S = 10.0
_STATES = (*END_STATES, *OPEN_STATES)
_JOB_ENDS = tuple(JOB_ENDS.values())


def follow(client: Client, base: str, action: ActionView, *, is_json: bool, wait_s: float | None = None) -> int:
    """Wait for the action's job and watch it to its end; returns the exit code."""
    until_s = None if wait_s is None else time.monotonic() + wait_s
    ended = action.newest_job if action.due and action.due[0].job_state in _JOB_ENDS and not action.is_over else None
    while (action.newest_job is None or action.newest_job == ended) and not action.is_over:
        left_s = REQUEST_WAIT_S if until_s is None else until_s - time.monotonic()
        if left_s <= 0:
            return _end(action, UNFINISHED, is_json=is_json)
        query = {"wait_s": f"{min(left_s, REQUEST_WAIT_S):.1f}", "after_job": ended or ""}
        action = client.ask("GET", f"{base}/{segment(action.id)}", ActionView, query=query)
    if action.newest_job is None:
        return _end(action, FAILED, is_json=is_json)
    if action.kind in PLAN_KINDS:
        run = client.ask("GET", f"{PLANS}/{segment(action.newest_job)}", PlanRunView)
        plan_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        return plan_exit_code(watch_plan(client, run, RunProgress(is_json, 1), plan_s))
    runs = "/v1/commands" if action.kind == COMMAND else "/v1/runs"
    progress = Progress(is_json)
    # Commands have no route for the job alone.
    job = client.ask("GET", f"{runs}/{segment(action.newest_job)}/changes", JobChanges).run
    watch_s = None if until_s is None else max(0.0, until_s - time.monotonic())
    return exit_code(watch(client, runs, job, progress, watch_s), progress)


def _end(action: ActionView, code: int, *, is_json: bool) -> int:
    if is_json:
        print_json(msgspec.to_builtins(action))
    else:
        print_action(action)
    return code


def print_action(action: ActionView) -> None:
    """Print an action and its due times."""
    count = "found at the start" if action.node_count is None else str(action.node_count)
    targets = "all" if action.nodes.all else ", ".join(action.nodes.targets)
    rows = [
        ("name", action.name),
        ("state", f"{action.state}{f': {action.message}' if action.message else ''}"),
        ("what", describe_work(action)),
        ("targets", f"{targets} ({count})"),
        ("environment", action.environment or "several, or not known yet"),
        ("when", describe_times(action)),
        ("next", format_time(action.next_at)),
        ("by", f"{action.made_by} at {format_time(action.made_at)}{f': {action.why}' if action.why else ''}"),
        ("windows", "overridden" if action.overrides_window else ""),
    ]
    print_table(["ACTION", action.id], [(what, visible(text)) for what, text in rows if text])
    if action.due:
        print()
        print_table(["DUE", "CAUSE", "STATE", "JOB", "NODES"], [_due_row(due) for due in action.due])


def _due_row(due: DueView) -> tuple[str | None, ...]:
    cause = f"{due.cause} of {due.node}" if due.node else due.cause
    state = due.state + (f" ({due.count} times)" if due.count > 1 else "")
    counts = ", ".join(f"{due.counts[each]} {each}" for each in _STATES if due.counts.get(each))
    about = f"{due.job_state}: {counts}" if counts else visible(due.message or "")
    return format_time(due.due_at), cause, state, due.job, about


def describe_work(action: ActionView) -> str:
    """What the nodes shall do, in a few words."""
    work = action.work
    if work.kind == COMMAND:
        return f"command {' '.join(work.argv)}"
    if work.kind == PLAN and work.plan is not None:
        return f"plan {work.plan.source.name} {work.mode}"
    if work.kind == TASK:
        return f"task {work.task}"
    mode = f" {work.mode}" if work.kind in ("run", "release") else ""
    return f"{work.kind}{mode}{' ' + ','.join(work.tags) if work.tags else ''}"


def describe_times(action: ActionView) -> str:
    """When it is due, in a few words."""
    times = action.times
    until = f", until {format_time(times.until)}" if times.until is not None else ""
    if times.cron is not None:
        return f"{times.cron} ({times.zone}){until}"
    if times.on is not None:
        return f"on {times.on}{until}"
    return "now" if times.at is None else f"at {format_time(times.at)}"
