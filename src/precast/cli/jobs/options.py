"""The options and exit codes that `precast run` and `precast exec` share: how a job spreads over its nodes, and how long it waits."""

import argparse
import re

from precast.base.setting_values import InvalidValueError, read_duration
from precast.cli import issues
from precast.cli.jobs.descriptions import format_state
from precast.cli.jobs.progress import Progress
from precast.wire.jobs import states
from precast.wire.jobs.views import JobLimits, JobView

AWAY, CHANGED, UNFINISHED, FAILED, STOPPED, CHANGED_AND_FAILED = range(1, 7)
EXITS = {
    AWAY: "some nodes are away; all others succeeded",
    CHANGED: "some resources changed or have pending changes (with --detailed-exitcodes)",
    UNFINISHED: "the run has not ended within --wait, and goes on",
    FAILED: "some nodes failed, did not begin in time, or gave no answer",
    STOPPED: "the run was stopped, aborted or halted before all nodes had ended",
    CHANGED_AND_FAILED: "some resources changed and some nodes failed (with --detailed-exitcodes)",
}
EXEC_EXITS = {code: text for code, text in EXITS.items() if code not in (CHANGED, CHANGED_AND_FAILED)}
AMOUNT = re.compile(r"[1-9][0-9]{0,6}|[1-9][0-9]?%|100%")
TOLERANCE = re.compile(r"[0-9]{1,7}|[0-9]{1,2}%|100%")


def add_limits(parser: argparse.ArgumentParser, deadline: str) -> None:
    """Add the options that limit how a job spreads, and how long the command watches it."""
    parser.add_argument("--canary", metavar="N|%", help="begin with N nodes, and go on only if none of them fails")
    parser.add_argument("--batch", metavar="N|%", help="run on N nodes, and on the next N when all of these have ended")
    parser.add_argument("--at-once", metavar="N|%", help="run on at most N nodes at the same time")
    parser.add_argument(
        "--tolerate",
        metavar="N|%",
        help="begin no other node once more than N have failed (default: 0 with --batch or --at-once, else no limit)",
    )
    parser.add_argument("--per-minute", metavar="N", help="let at most N nodes begin in a minute")
    parser.add_argument("--wait-away", metavar="TIME", help="wait this long for nodes that are away to connect")
    parser.add_argument("--tries", metavar="N", help="look N times for nodes that are away, then they have failed")
    parser.add_argument(
        "--try-every", metavar="TIME", help="with --tries: how long to wait between these tries (default: 1m)"
    )
    parser.add_argument("--begin", metavar="TIME", default="5m", help="how long a node may take to begin (default: 5m)")
    parser.add_argument(
        "--deadline",
        metavar="TIME",
        default=deadline,
        help=f"how long a node may take to end after it has begun (default: {deadline})",
    )
    add_window_options(parser)
    add_watching(parser)
    parser.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log and for the nodes")


def add_window_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that concern maintenance windows."""
    parser.add_argument(
        "--needs",
        metavar="TIME",
        help="how long it usually takes: it begins only while a maintenance window stays open so long "
        "(default: as long as it took on 95 of 100 nodes before, or 10m)",
    )
    parser.add_argument(
        "--override-window", action="store_true", help="also outside of maintenance windows; the audit log has it"
    )


def add_watching(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how long the command watches a job that it has started, if at all."""
    watching = parser.add_mutually_exclusive_group()
    add_wait(watching)
    watching.add_argument("--detach", action="store_true", help="print the run's id and exit without watching it")


def add_wait(parser: argparse._ActionsContainer) -> None:
    """Add the option that says how long the command watches a job."""
    parser.add_argument("--wait", metavar="TIME", help="watch for at most this long; the run goes on")


def limits_of(args: argparse.Namespace) -> JobLimits:
    """Raises InputError CLI-001."""
    if args.tries is None:
        refuse_unused("--try-every", args.try_every, "--tries")
    return JobLimits(
        batch=check_amount("--batch", args.batch, AMOUNT),
        at_once=check_amount("--at-once", args.at_once, AMOUNT),
        tolerate=check_amount("--tolerate", args.tolerate, TOLERANCE),
        begin_s=duration_s(args.begin),
        take_s=duration_s(args.deadline),
        away_s=0.0 if args.wait_away is None else duration_s(args.wait_away),
        canary=check_amount("--canary", args.canary, AMOUNT),
        per_minute=_number("--per-minute", args.per_minute, 1_000_000),
        tries=_number("--tries", args.tries, 1_000),
        try_every_s=duration_s(args.try_every or "1m"),
        needs_s=None if args.needs is None else duration_s(args.needs),
    )


def duration_s(text: str) -> float:
    """A duration in seconds; a number without a unit is seconds. Raises InputError CLI-001."""
    try:
        seconds = read_duration(f"{text}s" if text.isdecimal() else text).total_seconds()
    except InvalidValueError as error:
        raise issues.USAGE.error(problem=f"{text!r} is not {error}", usage="give a number and a unit") from None
    if not 1 <= seconds <= 7 * 86_400:
        raise issues.USAGE.error(problem=f"{text!r} is not between 1s and 7d", usage="give another time")
    return seconds


def check_amount(option: str, text: str | None, form: re.Pattern[str]) -> str | None:
    """A number of nodes or a percentage, as it was given. Raises InputError CLI-001."""
    if text is not None and not form.fullmatch(text):
        least = 0 if form is TOLERANCE else 1
        usage = f"give a number of nodes from {least} on, such as 10, or a percentage up to 100%"
        raise issues.USAGE.error(problem=f"{option} {text!r} is not valid", usage=usage)
    return text


def refuse_unused(option: str, text: object, without: str) -> None:
    """Refuse an option that was given and would have no effect. Raises InputError CLI-001."""
    if text is not None:
        raise issues.USAGE.error(problem=f"{option} has no effect without {without}", usage=f"add {without}")


def _number(option: str, text: str | None, most: int) -> int | None:
    """Raises InputError CLI-001."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 0 < int(text) <= most):
        raise issues.USAGE.error(problem=f"{option} {text!r} is invalid", usage=f"give a number from 1 to {most}")
    return int(text)


def exit_code(job: JobView, progress: Progress, *, detailed: bool = False) -> int:
    """The exit code for a watched job. A node that did not answer counts as failed, and one that was away until the end as away."""
    if not job.is_over:
        return UNFINISHED
    failed = job.counts.get(states.FAILED, 0) + job.counts.get(states.EXPIRED, 0) - progress.away
    if job.state != states.DONE:
        failed -= job.reasons.get(format_state(states.FAILED, states.ABORTED), 0)
    if failed:
        return CHANGED_AND_FAILED if detailed and progress.has_changes else FAILED
    if job.state != states.DONE:
        return STOPPED
    if progress.away or job.reasons.get(format_state(states.SKIPPED, states.AWAY)):
        return AWAY
    return CHANGED if detailed and progress.has_changes else 0


def add_override_futures(parser: argparse.ArgumentParser) -> None:
    explanation = "start though nodes would wait for values that never come; the audit log has it"
    parser.add_argument("--override-futures", action="store_true", help=explanation)
