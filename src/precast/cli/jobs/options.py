"""What commands that run something over nodes have in common: how it spreads, how long it waits, and what their exit codes say."""

import argparse
import re

from precast.base.setting_values import Unfit, duration
from precast.cli import issues
from precast.cli.jobs.progress import Progress
from precast.wire.jobs.views import RunLimits, RunView

AWAY, CHANGED, GOES_ON, FAILED, STOPPED, BOTH = range(1, 7)
EXITS = {
    AWAY: "some nodes are away; the others are well",
    CHANGED: "something changed, or would (with --detailed-exitcodes)",
    GOES_ON: "the run goes on: --wait was over",
    FAILED: "some nodes failed, did not run, or gave no answer",
    STOPPED: "the run was stopped before all nodes had begun",
    BOTH: "something changed and some nodes failed (with --detailed-exitcodes)",
}
EXEC_EXITS = {code: text for code, text in EXITS.items() if code not in (CHANGED, BOTH)}
_AMOUNT = re.compile(r"[1-9][0-9]{0,6}|[1-9][0-9]?%|100%")
_TOLERANCE = re.compile(r"[0-9]{1,7}|[0-9]{1,2}%|100%")


def add_limits(parser: argparse.ArgumentParser, take: str) -> None:
    """The options that say how a run spreads, and what the command waits for."""
    parser.add_argument("--batch", metavar="N|%", help="so many nodes, and the next when all of these have ended")
    parser.add_argument("--at-once", metavar="N|%", help="at most so many nodes at the same time")
    tolerated = "when more nodes have failed, no other begins (default: 0 with --batch or --at-once, else any number)"
    parser.add_argument("--tolerate", metavar="N|%", help=tolerated.replace("%", "%%"))
    parser.add_argument("--wait-away", metavar="TIME", help="also wait so long for nodes that are away")
    parser.add_argument("--begin", metavar="TIME", default="5m", help="how long a node may take to begin (default: 5m)")
    parser.add_argument("--deadline", metavar="TIME", default=take, help=f"and then, to end (default: {take})")
    waiting = parser.add_mutually_exclusive_group()
    waiting.add_argument("--wait", metavar="TIME", help="how long to watch; the run goes on")
    waiting.add_argument("--detach", action="store_true", help="do not watch: say which run it is, and end")
    parser.add_argument("--why", metavar="TEXT", default="", help="for the audit log, and for the nodes")


def limits_of(args: argparse.Namespace) -> RunLimits:
    """Raises InputError CLI-001."""
    return RunLimits(
        _amount("--batch", args.batch, _AMOUNT),
        _amount("--at-once", args.at_once, _AMOUNT),
        _amount("--tolerate", args.tolerate, _TOLERANCE),
        duration_s(args.begin),
        duration_s(args.deadline),
        0.0 if args.wait_away is None else duration_s(args.wait_away),
    )


def duration_s(text: str) -> float:
    """Seconds; with a unit, or without one. Raises InputError CLI-001."""
    try:
        found = duration(f"{text}s" if text.isdecimal() else text).total_seconds()
    except Unfit as error:
        raise issues.USAGE.error(problem=f"{text!r} is not {error}", usage="give a number and a unit") from None
    if not 1 <= found <= 7 * 86_400:
        raise issues.USAGE.error(problem=f"{text!r} is not between 1s and 7d", usage="give another time")
    return found


def _amount(option: str, text: str | None, form: re.Pattern[str]) -> str | None:
    if text is not None and not form.fullmatch(text):
        raise issues.USAGE.error(problem=f"{option} {text!r} is neither a number nor a share", usage="say 10, or 25%")
    return text


def exit_code(run: RunView, progress: Progress, *, detailed: bool = False) -> int:
    """What a run that was watched means for whoever started it. Silence is never success."""
    counts = run.counts
    if not run.is_over:
        return GOES_ON
    if any(counts.get(state) for state in ("failed", "not-run", "silent")):
        return BOTH if detailed and progress.has_changes else FAILED
    if run.state != "done":
        return STOPPED
    if counts.get("away"):
        return AWAY
    return CHANGED if detailed and progress.has_changes else 0
