"""Policies: what a node's agent may do by itself. An operator sets a policy and the authority signs it.

A run is a no-op unless the policy permits it to enforce:

    never      no run enforces
    triggered  runs that were ordered enforce; inside the windows, if there are any
    window     every run that begins inside a window enforces
    always     every run enforces

Maintenance windows that are bound to the node narrow this further: the document has the intervals in which they are open, until it
expires, so that a node without a connection obeys them too. They bind the runs that the agent starts by itself; for an ordered run the
server decides, because it may have been ordered in spite of a window.

Without a policy no run enforces. The document names its node, so that no other node accepts it; its serial only grows, so that an older
policy never replaces a newer one; and it expires, so that a node without a connection returns to no-op runs.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec

from precast.base import canonical
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.windows.intervals import Interval, next_open
from precast.wire.windows.rules import parse_rule

Enforce = Literal["never", "triggered", "window", "always"]
LEVELS: tuple[Enforce, ...] = ("never", "triggered", "window", "always")
MAX_WINDOWS = 20
# Hourly windows until the policy expires are fewer.
MAX_OPENINGS = 1000
# As long as a node's certificate: a node without contact to a server for this time runs in no-op mode.
POLICY_FOR = timedelta(days=30)
# Prefixed to the signed text, so that the signature is not valid for any other kind of document.
_SIGNATURE_PREFIX = b"precast policy 1\n"


class Openings(msgspec.Struct, frozen=True):
    """When the maintenance windows that are bound to a node are open; the digest changes with the windows, and not with time."""

    digest: str
    intervals: list[Interval]


class Policy(msgspec.Struct, frozen=True, omit_defaults=True):
    """The document that is signed. Without `openings`, no maintenance window binds the node."""

    node: str
    serial: int
    enforce: Enforce
    windows: list[str]
    issued_at: datetime
    expires_at: datetime
    openings: Openings | None = None

    @property
    def tag(self) -> str:
        """Names the version of the document, whenever it was signed."""
        return policy_tag(self.serial, self.openings)


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


def policy_text(policy: Policy) -> str:
    return canonical.encode(policy).decode()


def policy_tag(serial: int, openings: Openings | None) -> str:
    return str(serial) if openings is None else f"{serial}-{openings.digest}"


def signed_bytes(text: str) -> bytes:
    """The bytes that the signature of a policy covers."""
    return _SIGNATURE_PREFIX + text.encode()


def find_open_window(windows: Sequence[str], at: datetime) -> datetime | None:
    """Return when the window that contains `at` opened; the latest if several do, None if none does. Raises InputError POLICY-001."""
    now = at + timedelta(microseconds=1)
    opened = [interval.opens_at for window in windows for interval in parse_rule(window).expand(at, now)]
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
    if reason != "ordered" and policy.openings is not None:
        opens_at = next_open(policy.openings.intervals, at)
        if opens_at != at:
            opening = f"open at {opens_at:%Y-%m-%d %H:%M:%SZ}" if opens_at is not None else "stay closed"
            return EnforceDecision(False, f"its maintenance windows are closed, and {opening}", trusts_code=True)
    return EnforceDecision(True, trusts_code=True)
