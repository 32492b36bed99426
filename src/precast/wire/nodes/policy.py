"""What a node's agent may do by itself, as an operator has set it and the authority has signed it.

A run that the agent starts only looks, unless its policy lets it enforce:

    never      no run enforces
    triggered  those that somebody orders; inside its windows, if it has any
    window     every run that begins inside a window
    always     every run

Without a policy no run enforces. The document names its node, so that it is of use to no other; its serial only grows, so that an older
one is not taken for a newer; and it ends, so that a node which hears from nobody goes back to looking.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Literal, NamedTuple

import msgspec

from precast.base import canonical
from precast.wire import issues
from precast.wire.nodes.bodies import TargetsBody

Enforce = Literal["never", "triggered", "window", "always"]
LEVELS: tuple[Enforce, ...] = ("never", "triggered", "window", "always")
MAX_WINDOWS = 20
LONGEST = timedelta(days=7)
# Before what is signed, so that this signature can never be taken for one of another sort.
_SORT = b"precast policy 1\n"
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(r"([A-Za-z]{3}|daily)\s+(\d{1,2}):(\d{2})\s+(\d{1,5})([mhd])(?:\s+([A-Za-z0-9_+/-]{1,64}))?")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class Policy(msgspec.Struct, frozen=True):
    """The document that is signed."""

    node: str
    serial: int
    enforce: Enforce
    windows: list[str]
    issued_at: datetime
    expires_at: datetime


class SignedPolicy(msgspec.Struct, frozen=True):
    """A policy as it travels: its text to the byte, and the authority's signature in base64."""

    policy: str
    signature: str


class NodesPolicy(msgspec.Struct, frozen=True):
    """What the agents of some nodes may do by themselves."""

    nodes: TargetsBody
    enforce: Enforce
    windows: list[str] = []
    why: str = ""


class PolicyView(msgspec.Struct, frozen=True):
    """The policy of a node; nobody has set one as long as the serial is 0."""

    node: str
    enforce: Enforce = "never"
    windows: list[str] = []
    serial: int = 0
    set_by: str | None = None
    set_at: datetime | None = None


class Verdict(NamedTuple):
    """Whether a run may change things, and why not."""

    may_enforce: bool
    why: str = ""


class Window(NamedTuple):
    """A span of time in every week, or every day if there is no weekday. It lasts as long as it says, whatever clocks do meanwhile."""

    weekday: int | None
    start: time
    length: timedelta
    zone: str = "UTC"

    def __str__(self) -> str:
        day = "daily" if self.weekday is None else _DAYS[self.weekday].capitalize()
        unit = next(unit for unit in "dhm" if self.length % _UNITS[unit] == timedelta(0))
        zone = "" if self.zone == "UTC" else f" {self.zone}"
        return f"{day} {self.start:%H:%M} {self.length // _UNITS[unit]}{unit}{zone}"


def text_of(policy: Policy) -> str:
    return canonical.encode(policy).decode()


def signed_bytes(text: str) -> bytes:
    """What the signature of a policy is over."""
    return _SORT + text.encode()


def parse_window(text: str) -> Window:
    """A window as people write it: `Sun 02:00 4h`, `daily 22:30 90m Europe/Berlin`. Raises InputError POLICY-001."""
    found = _WINDOW.fullmatch(text.strip())
    if found is None:
        raise issues.BAD_WINDOW.error(window=text[:80], reason="it does not say day, start and length")
    day, hour, minute, count, unit, zone = found.groups()
    length = int(count) * _UNITS[unit]
    if day.lower() not in (*_DAYS, "daily"):
        raise issues.BAD_WINDOW.error(window=text[:80], reason=f"there is no day {day}")
    if int(hour) > 23 or int(minute) > 59:
        raise issues.BAD_WINDOW.error(window=text[:80], reason=f"there is no time {hour}:{minute}")
    if not timedelta(0) < length <= LONGEST:
        raise issues.BAD_WINDOW.error(window=text[:80], reason="it lasts from a minute to 7 days")
    _zone(zone or "UTC", text)
    weekday = None if day.lower() == "daily" else _DAYS.index(day.lower())
    return Window(weekday, time(int(hour), int(minute)), length, zone or "UTC")


def opened_at(windows: Sequence[str], at: datetime) -> datetime | None:
    """When the window opened in which a moment lies; the latest, if it lies in several. Raises InputError POLICY-001."""
    opened = [since for window in windows if (since := _opened_at(parse_window(window), at)) is not None]
    return max(opened, default=None)


def decide(policy: Policy, reason: str, at: datetime) -> Verdict:
    """Whether a run that begins now, for this reason, may enforce. Raises InputError POLICY-001."""
    if policy.expires_at <= at:
        return Verdict(False, f"its policy was good until {policy.expires_at:%Y-%m-%d %H:%M:%SZ}")
    if policy.enforce == "never":
        return Verdict(False, "by its policy no run changes anything")
    if policy.enforce == "triggered" and reason != "ordered":
        return Verdict(False, "by its policy only runs that somebody orders change anything")
    is_bound = policy.enforce == "window" or bool(policy.windows)
    if is_bound and opened_at(policy.windows, at) is None:
        return Verdict(False, f"by its policy things change only in its windows: {', '.join(policy.windows)}")
    return Verdict(True)


def _opened_at(window: Window, at: datetime) -> datetime | None:
    zone = _zone(window.zone, str(window))
    today = at.astimezone(zone).date()
    for days in range(LONGEST.days + 2):
        day = today - timedelta(days=days)
        if window.weekday not in (None, day.weekday()):
            continue
        since = datetime.combine(day, window.start, zone).astimezone(UTC)
        if since <= at < since + window.length:
            return since
    return None


def _zone(name: str, text: str) -> tzinfo:
    if name == "UTC":
        return UTC
    import zoneinfo  # rare, and a daemon that lives as long as its machine has to carry it around

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise issues.BAD_WINDOW.error(window=text[:80], reason=f"the time zone {name} is not known here") from None
