"""The options of `precast action create`: when an action is due, how it spreads over its nodes, and what becomes of nodes that are away."""

import argparse
from datetime import UTC, datetime, timedelta

from precast.base.setting_values import InvalidValueError, read_duration
from precast.base.wall_time import find_zone, first_moment
from precast.cli import issues
from precast.cli.jobs.options import AMOUNT, TOLERANCE, add_window_options, check_amount, duration_s, refuse_unused
from precast.wire.actions.bodies import MAX_MISSED, ActionTimes
from precast.wire.jobs.views import JobLimits

TRIES = 3
_CANARY = "begin with N nodes; go on only if none of them fails"
_USAGE = "write 2027-03-01T02:00, 2027-03-01T02:00+01:00 or 2027-03-01T02:00Z; or +2h for in two hours"


def add_times(parser: argparse.ArgumentParser) -> None:
    """Add the options that say when an action is due."""
    when = parser.add_argument_group("when (default: now)")
    due = when.add_mutually_exclusive_group()
    due.add_argument("--at", metavar="TIME", help="at a time, such as 2027-03-01T02:00Z, or +2h for in two hours")
    due.add_argument("--cron", metavar="EXPRESSION", help="by a cron expression, such as '30 2 * * sun'")
    due.add_argument(
        "--on", choices=["return", "enrolment"], help="when a node returns, or connects for the first time"
    )
    when.add_argument("--zone", metavar="ZONE", default="UTC", help="the time zone of all times (default: UTC)")
    when.add_argument("--until", metavar="TIME", help="it is not due after this time")
    when.add_argument("--start-within", metavar="TIME", help="what has not begun so long after it was due is given up")
    when.add_argument(
        "--resolve",
        choices=["now", "start"],
        help="find the nodes now, or whenever it starts (default: start with --cron and --on, else now)",
    )
    when.add_argument(
        "--missed",
        metavar="once|skip|all[:N]",
        default="once",
        help="what to do about due times in which no server was up: start once, not at all, or the last N (default: once)",
    )
    when.add_argument(
        "--overlap",
        choices=["skip", "queue-one", "cancel-old"],
        default="skip",
        help="what to do if its last job has not ended (default: skip)",
    )


def times_of(args: argparse.Namespace) -> ActionTimes:
    """Raises InputError CLI-001."""
    policy, _, limit = args.missed.partition(":")
    is_number = limit.isascii() and limit.isdecimal() and 0 < int(limit) <= MAX_MISSED
    if policy not in ("once", "skip", "all") or (limit and not (policy == "all" and is_number)):
        raise issues.USAGE.error(
            problem=f"--missed {args.missed!r} is unknown", usage=f"write once, skip, all, or all:N (1 to {MAX_MISSED})"
        )
    within_s = None if args.start_within is None else duration_s(args.start_within)
    at, until = (None if text is None else read_time(text, args.zone) for text in (args.at, args.until))
    return ActionTimes(
        at,
        args.cron,
        args.zone,
        args.on,
        until,
        within_s,
        policy,
        int(limit) if limit else 10,
        args.overlap,
    )


def read_time(text: str, zone_name: str) -> datetime:
    """A time with its offset, or on the clocks of a zone; or a duration from now on. Raises InputError CLI-001."""
    try:
        if text.startswith("+"):
            return datetime.now(UTC) + timedelta(seconds=read_duration(text[1:]).total_seconds())
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, InvalidValueError):
        raise issues.USAGE.error(problem=f"{text!r} is not a time", usage=_USAGE) from None
    if moment.tzinfo is not None:
        return moment
    zone = find_zone(zone_name)
    if zone is None:
        raise issues.USAGE.error(
            problem=f"the time zone {zone_name!r} is not known", usage="use a name such as Europe/Berlin or UTC"
        )
    return first_moment(moment, zone).astimezone(UTC)


def add_spread(parser: argparse.ArgumentParser, deadline: str, *, of_task: bool = False) -> None:
    """Add the options that limit how an action spreads over its nodes, and how long it waits for each."""
    how = parser.add_argument_group("how")
    if of_task:
        parser.set_defaults(batch=None, per_minute=None, tries=None, begin="5m")
    else:
        _add_pace(how)
    canary = "begin with one node; go on only if it succeeds (N is 1)" if of_task else _CANARY
    how.add_argument("--canary", metavar="N|%", help=canary)
    how.add_argument("--at-once", metavar="N|%", help="run on at most N nodes at the same time")
    how.add_argument("--tolerate", metavar="N|%", help="begin no other node once more than N have failed")
    how.add_argument(
        "--away",
        choices=["skip", "wait"] if of_task else ["skip", "wait", "try"],
        default="skip",
        help="nodes that are away: skip them, wait for them, or look for them some times (default: skip)",
    )
    how.add_argument("--away-for", metavar="TIME", help="with --away wait: how long (default: 1d)")
    how.add_argument(
        "--deadline", metavar="TIME", default=deadline, help=f"how long it may take to end (default: {deadline})"
    )
    add_window_options(how)


def _add_pace(how: argparse._ArgumentGroup) -> None:
    how.add_argument("--batch", metavar="N|%", help="run on N nodes, and on the next N when all of these have ended")
    how.add_argument("--per-minute", metavar="N", type=int, help="let at most N nodes begin in a minute")
    how.add_argument("--tries", metavar="N", type=int, help="with --away try: how often (default: 3)")
    how.add_argument("--begin", metavar="TIME", default="5m", help="how long a node may take to begin (default: 5m)")


def limits_of(args: argparse.Namespace) -> JobLimits:
    """Raises InputError CLI-001."""
    for option, number, most in (("--per-minute", args.per_minute, 1_000_000), ("--tries", args.tries, 1_000)):
        if number is not None and not 0 < number <= most:
            raise issues.USAGE.error(problem=f"{option} {number} is invalid", usage=f"give a number from 1 to {most}")
    if args.away != "wait":
        refuse_unused("--away-for", args.away_for, "--away wait")
    if args.away != "try":
        refuse_unused("--tries", args.tries, "--away try")
    return JobLimits(
        batch=check_amount("--batch", args.batch, AMOUNT),
        at_once=check_amount("--at-once", args.at_once, AMOUNT),
        tolerate=check_amount("--tolerate", args.tolerate, TOLERANCE),
        begin_s=duration_s(args.begin),
        take_s=duration_s(args.deadline),
        away_s=duration_s(args.away_for or "1d") if args.away == "wait" else 0.0,
        canary=check_amount("--canary", args.canary, AMOUNT),
        per_minute=args.per_minute,
        tries=(args.tries or TRIES) if args.away == "try" else None,
        needs_s=None if args.needs is None else duration_s(args.needs),
    )
