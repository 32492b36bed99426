"""Policies: what a node's agent may do by itself. An operator sets a policy and the authority signs it.

A run is a no-op unless the policy permits it to enforce:

    never      no run enforces
    triggered  runs that were ordered enforce; inside the windows, if there are any
    window     every run that begins inside a window enforces
    always     every run enforces

Without a policy no run enforces. The document names its node, so that no other node accepts it; its serial only grows, so that an older
policy never replaces a newer one; and it expires, so that a node without a connection returns to no-op runs.
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
# Prefixed to the signed text, so that the signature is not valid for any other kind of document.
_SIGNATURE_PREFIX = b"precast policy 1\n"
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
    """A policy as it is sent: its exact text, and the authority's signature in base64."""

    policy: str
    signature: str


class NodesPolicy(msgspec.Struct, frozen=True):
    """A policy to set for nodes."""

    nodes: TargetsBody
    enforce: Enforce
    windows: list[str] = []
    why: str = ""


class PolicyView(msgspec.Struct, frozen=True):
    """The policy of a node; serial 0 means that none was set."""

    node: str
    enforce: Enforce = "never"
    windows: list[str] = []
    serial: int = 0
    set_by: str | None = None
    set_at: datetime | None = None


class EnforceDecision(NamedTuple):
    """Whether a run may enforce, and why not. `trusts_code`: whether the environment's code may run with the agent's rights.

    Code is trusted under every valid policy that lets some run enforce, also outside its windows: that run could do the same.
    """

    may_enforce: bool
    why: str = ""
    trusts_code: bool = False


class Window(NamedTuple):
    """A time span in every week, or every day if `weekday` is None. Its length is exact, even across a change to daylight saving time."""

    weekday: int | None
    start: time
    length: timedelta
    zone: str = "UTC"

    def __str__(self) -> str:
        day = "daily" if self.weekday is None else _DAYS[self.weekday].capitalize()
        unit = next(unit for unit in "dhm" if self.length % _UNITS[unit] == timedelta(0))
        zone = "" if self.zone == "UTC" else f" {self.zone}"
        return f"{day} {self.start:%H:%M} {self.length // _UNITS[unit]}{unit}{zone}"


def policy_text(policy: Policy) -> str:
    return canonical.encode(policy).decode()


def signed_bytes(text: str) -> bytes:
    """The bytes that the signature of a policy covers."""
    return _SIGNATURE_PREFIX + text.encode()


def parse_window(text: str) -> Window:
    """Parse a window as operators write it: `Sun 02:00 4h`, `daily 22:30 90m Europe/Berlin`. Raises InputError POLICY-001."""
    match = _WINDOW.fullmatch(text.strip())
    if match is None:
        raise issues.BAD_WINDOW.error(window=text[:80], reason="it does not have the form DAY START LENGTH [ZONE]")
    day, hour, minute, count, unit, zone = match.groups()
    length = int(count) * _UNITS[unit]
    if day.lower() not in (*_DAYS, "daily"):
        raise issues.BAD_WINDOW.error(window=text[:80], reason=f"there is no day {day}")
    if int(hour) > 23 or int(minute) > 59:
        raise issues.BAD_WINDOW.error(window=text[:80], reason=f"there is no time {hour}:{minute}")
    if not timedelta(0) < length <= LONGEST:
        raise issues.BAD_WINDOW.error(window=text[:80], reason="its length must be between a minute and 7 days")
    _zone(zone or "UTC", text)
    weekday = None if day.lower() == "daily" else _DAYS.index(day.lower())
    return Window(weekday, time(int(hour), int(minute)), length, zone or "UTC")


def find_open_window(windows: Sequence[str], at: datetime) -> datetime | None:
    """Return when the window that contains `at` opened; the latest if several do, None if none does. Raises InputError POLICY-001."""
    opened = [since for window in windows if (since := _opened_at(parse_window(window), at)) is not None]
    return max(opened, default=None)


def decide_enforcement(policy: Policy, reason: str, at: datetime) -> EnforceDecision:
    """Decide whether a run that begins at `at`, for this reason, may enforce. Raises InputError POLICY-001."""
    if policy.expires_at <= at:
        return EnforceDecision(False, f"its policy expired at {policy.expires_at:%Y-%m-%d %H:%M:%SZ}")
    if policy.enforce == "never":
        return EnforceDecision(False, "its policy permits no run to enforce")
    if policy.enforce == "triggered" and reason != "ordered":
        return EnforceDecision(False, "its policy permits only ordered runs to enforce", trusts_code=True)
    is_bound = policy.enforce == "window" or bool(policy.windows)
    if is_bound and find_open_window(policy.windows, at) is None:
        why = f"its policy permits runs to enforce only in its windows: {', '.join(policy.windows)}"
        return EnforceDecision(False, why, trusts_code=True)
    return EnforceDecision(True, trusts_code=True)


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
    import zoneinfo  # rarely needed, and a long-running daemon should not pay its memory

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise issues.BAD_WINDOW.error(
            window=text[:80], reason=f"the time zone {name} is not known on this machine"
        ) from None
