"""An action as its row holds it: what was requested, and what was derived from it when it was created."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from precast.base.clock import Clock
from precast.services.actions import issues
from precast.services.actions.schedule import ON_TIME, Cron, Schedule
from precast.services.identity import roles
from precast.store.actions.actions import ActionRow
from precast.wire.actions import bodies
from precast.wire.actions.bodies import ActionTimes, ActionWork, NewAction

# Parses a cron expression in a time zone. Raises InputError.
ParseCron = Callable[[str, str], Cron]
# No action is planned for a later time.
LONGEST = timedelta(days=3660)


class SealedJob(msgspec.Struct, frozen=True):
    """The one job for which the signer has sealed a command, and until when it signs its orders."""

    job: str
    sealed_until: datetime


class StandingCommand(msgspec.Struct, frozen=True):
    """Until when the signer signs orders of a command that is repeated; and its seal, if that is valid for any node."""

    sealed_until: datetime
    seal: bytes | None = None


class StoredAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an action's row."""

    new: NewAction
    argv: list[str] = []  # of a command, with the values of its parameters
    sealed: SealedJob | None = None
    standing: StandingCommand | None = None
    runs_commands: bool = False  # its plan does

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


def decode_action(action: ActionRow) -> StoredAction:
    return msgspec.json.decode(action.body, type=StoredAction)


def needed_roles(kind: str) -> Sequence[str]:
    """The roles of which an action's owner needs one, when it is created and whenever it is due. A plan may need that for commands."""
    if kind == bodies.PLAN:
        return ("operator", roles.COMMANDS)
    return (roles.COMMANDS,) if kind in bodies.COMMAND_KINDS else ("operator",)


def may_own(role: str, kind: str) -> bool:
    """Whether a person with this role may own actions of a kind."""
    return any(roles.includes(role, needed) for needed in needed_roles(kind))


def changes_nodes(work: ActionWork) -> bool:
    """Whether the action can change nodes. Only then may an environment require approvals."""
    return work.kind != bodies.FACTS and (work.kind not in (bodies.RUN, bodies.PLAN) or work.mode == "enforce")


def make_schedule(times: ActionTimes, parse_cron: ParseCron) -> Schedule:
    """The schedule of an action. Raises InputError for an invalid cron expression."""
    cron = None if times.cron is None else parse_cron(times.cron, times.zone)
    start_within = None if times.start_within_s is None else timedelta(seconds=times.start_within_s)
    return Schedule(cron, times.until, start_within, times.missed, times.missed_limit)


def first_due(times: ActionTimes, schedule: Schedule, now: datetime) -> datetime | None:
    """When a scheduler has to look at an action that becomes active now. None: only when a node connects."""
    if times.on is not None:
        return times.until  # then it ends
    if times.cron is not None:
        return schedule.next_after(now)
    return times.at if times.at is not None else now


def is_too_late(times: ActionTimes, due_at: datetime, now: datetime) -> bool:
    """Whether an action that becomes active now has missed its time, by more than its start deadline allows."""
    within = ON_TIME if times.start_within_s is None else timedelta(seconds=times.start_within_s)
    return now - due_at > within


def check_times(new: NewAction, schedule: Schedule, clock: Clock) -> None:
    """Raises InputError ACTION-005."""
    times, now = new.times, clock.now()
    if sum(each is not None for each in (times.at, times.cron, times.on)) > 1:
        raise issues.BAD_TIMES.error(problem="an action has one of --at, --cron and --on")
    if times.at is not None and not now - ON_TIME <= times.at <= now + LONGEST:
        raise issues.BAD_TIMES.error(problem=f"{times.at:%Y-%m-%d %H:%M:%SZ} is past, or more than ten years ahead")
    if times.until is not None and times.until <= (times.at or now):
        raise issues.BAD_TIMES.error(problem="the action would end before it is due")
    if times.cron is not None and schedule.next_after(now) is None:
        raise issues.BAD_TIMES.error(problem=f"the cron expression {times.cron!r} is never due")
    if times.on == "return" and new.work.kind == bodies.REBOOT:
        raise issues.BAD_TIMES.error(problem="a reboot is followed by a return, so it would be repeated for ever")
    if times.on == "enrolment" and new.resolve == "now":
        raise issues.BAD_TIMES.error(
            problem="nodes that enrol later can only be resolved at the start: --resolve start"
        )
