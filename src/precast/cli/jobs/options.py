"""The options and exit codes that `precast run` and `precast exec` share: how a job spreads over its nodes, and how long it waits."""

import argparse
import re

from precast.base.setting_values import InvalidValueError, read_duration
from precast.cli import issues
from precast.cli.jobs.progress import Progress
from precast.wire.jobs.views import JobLimits, JobView

AWAY, CHANGED, UNFINISHED, FAILED, STOPPED, CHANGED_AND_FAILED = range(1, 7)
EXITS = {
    AWAY: "some nodes are away; all others succeeded",
    CHANGED: "some resources changed or have pending changes (with --detailed-exitcodes)",
    UNFINISHED: "the run has not ended within --wait, and goes on",
    FAILED: "some nodes failed, did not run, or gave no answer",
    STOPPED: "the run was stopped before all nodes had begun",
    CHANGED_AND_FAILED: "some resources changed and some nodes failed (with --detailed-exitcodes)",
}
EXEC_EXITS = {code: text for code, text in EXITS.items() if code not in (CHANGED, CHANGED_AND_FAILED)}
_AMOUNT = re.compile(r"[1-9][0-9]{0,6}|[1-9][0-9]?%|100%")
_TOLERANCE = re.compile(r"[0-9]{1,7}|[0-9]{1,2}%|100%")


def add_limits(parser: argparse.ArgumentParser, deadline: str) -> None:
    """Add the options that limit how a job spreads, and how long the command watches it."""
    parser.add_argument("--batch", metavar="N|%", help="run on N nodes, and on the next N when all of these have ended")
    parser.add_argument("--at-once", metavar="N|%", help="run on at most N nodes at the same time")
    parser.add_argument(
        "--tolerate",
        metavar="N|%",
        help="begin no other node once more than N have failed (default: 0 with --batch or --at-once, else no limit)",
    )
    parser.add_argument("--wait-away", metavar="TIME", help="wait this long for nodes that are away to connect")
    parser.add_argument("--begin", metavar="TIME", default="5m", help="how long a node may take to begin (default: 5m)")
    parser.add_argument(
        "--deadline",
        metavar="TIME",
        default=deadline,
        help=f"how long a node may take to end after it has begun (default: {deadline})",
    )
    waiting = parser.add_mutually_exclusive_group()
    waiting.add_argument("--wait", metavar="TIME", help="watch for at most this long; the run goes on")
    waiting.add_argument("--detach", action="store_true", help="print the run's id and exit without watching it")
    parser.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log and for the nodes")


def limits_of(args: argparse.Namespace) -> JobLimits:
    """Raises InputError CLI-001."""
    return JobLimits(
        _amount("--batch", args.batch, _AMOUNT),
        _amount("--at-once", args.at_once, _AMOUNT),
        _amount("--tolerate", args.tolerate, _TOLERANCE),
        duration_s(args.begin),
        duration_s(args.deadline),
        0.0 if args.wait_away is None else duration_s(args.wait_away),
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


def _amount(option: str, text: str | None, form: re.Pattern[str]) -> str | None:
    if text is not None and not form.fullmatch(text):
        raise issues.USAGE.error(
            problem=f"{option} {text!r} is neither a number nor a percentage", usage="give a number such as 10, or 25%"
        )
    return text


def exit_code(job: JobView, progress: Progress, *, detailed: bool = False) -> int:
    """The exit code for a watched job. A node that did not answer counts as failed."""
    counts = job.counts
    if not job.is_over:
        return UNFINISHED
    if any(counts.get(state) for state in ("failed", "not-run", "silent")):
        return CHANGED_AND_FAILED if detailed and progress.has_changes else FAILED
    if job.state != "done":
        return STOPPED
    if counts.get("away"):
        return AWAY
    return CHANGED if detailed and progress.has_changes else 0
