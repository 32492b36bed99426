"""Actions in words, for requests of approval and the audit log."""

import shlex
from datetime import UTC, datetime

from precast.wire.actions import bodies
from precast.wire.actions.bodies import ActionTimes, ActionWork, NewAction

# Of the words of a command.
LONGEST_TEXT = 1_000

_WORK = {
    bodies.RELEASE: "release and run",
    bodies.FACTS: "refresh of facts",
    bodies.RESTART: "restart of the agent",
    bodies.REBOOT: "reboot",
}


def describe_action(new: NewAction, count: int | None) -> str:
    """The whole action in one line. `count` is None if its nodes are resolved at the start."""
    nodes = "all nodes" if new.nodes.all else ", ".join(new.nodes.targets[:3])[:100]
    where = f"on {nodes}" if count is None or count > 1 else f"on {nodes} (1 node)"
    if count is not None and count > 1:
        where += f" ({count} nodes)"
    despite = ", despite closed windows" if new.overrides_window else ""
    return f"{describe_work(new.work)} {where}, {describe_times(new.times)}{despite}"


def describe_work(work: ActionWork) -> str:
    if work.kind == bodies.COMMAND:
        text = shlex.join(work.argv)
        values = "".join(f", {name}={parameter.value!r}" for name, parameter in sorted(work.parameters.items()))
        return _shortened(f"command {text}{values}")
    if work.kind == bodies.PLAN and work.plan is not None:
        files = f" ({len(work.plan.source.files)} files)" if work.plan.source.files else ""
        values = "".join(f", {name}={value!r}" for name, value in sorted(work.plan.parameters.items()))
        return _shortened(f"plan {work.plan.source.name}{files} ({work.mode}){values}")
    if work.kind == bodies.TASK:
        values = "".join(f", {name}={parameter.value!r}" for name, parameter in sorted(work.parameters.items()))
        return _shortened(f"task {work.task}{values}")
    if work.kind == bodies.RUN:
        return f"run ({work.mode})"
    return _WORK[work.kind]


def describe_times(times: ActionTimes) -> str:
    until = "" if times.until is None else f" until {_utc(times.until)}"
    if times.cron is not None:
        return f"by the schedule {times.cron!r} in {times.zone}{until}"
    if times.on is not None:
        return f"on each {times.on} of a node{until}"
    return "now" if times.at is None else f"at {_utc(times.at)}"


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _shortened(text: str) -> str:
    """A long text says that it was cut: people approve what they read."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} … (cut, see `precast action show --json`)"
