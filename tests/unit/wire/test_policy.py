"""Policies: when a run may enforce, at given times."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from precast.base.errors import InputError
from precast.wire.nodes.policy import (
    Enforce,
    Openings,
    Policy,
    decide_enforcement,
    find_open_window,
    policy_text,
    signed_bytes,
)
from precast.wire.windows.intervals import Interval
from precast.wire.windows.rules import parse_rule

SUNDAY = datetime(2026, 11, 15, tzinfo=UTC)


def policy(enforce: Enforce, *windows: str) -> Policy:
    return Policy("web1", 7, enforce, list(windows), SUNDAY - timedelta(days=1), SUNDAY + timedelta(days=29))


@pytest.mark.parametrize(
    ("enforce", "windows", "allowed"),
    [
        ("never", [], set()),
        ("triggered", [], {"ordered"}),
        ("triggered", ["Sun 00:00 1h"], {"ordered"}),
        ("triggered", ["Sun 01:00 1h"], set()),
        ("window", ["Sun 00:00 1h"], {"schedule", "released", "ordered"}),
        ("window", ["Sun 01:00 1h"], set()),
        ("window", ["Sun 01:00 1h", "daily 23:30 1h"], {"schedule", "released", "ordered"}),
        ("always", [], {"schedule", "released", "ordered"}),
    ],
)
def test_policy_permits_its_runs_and_gives_a_reason_for_others(
    enforce: Enforce, windows: list[str], allowed: set[str]
) -> None:
    decisions = {
        reason: decide_enforcement(policy(enforce, *windows), reason, SUNDAY)
        for reason in ("schedule", "released", "ordered")
    }
    assert {reason for reason, decision in decisions.items() if decision.may_enforce} == allowed
    assert all(decision.may_enforce != bool(decision.why) for decision in decisions.values())
    assert {decision.trusts_code for decision in decisions.values()} == {enforce != "never"}


@pytest.mark.parametrize(
    ("at_h", "reason", "why"),
    [
        (0, "schedule", "closed, and open at 2026-11-15 02:00:00Z"),
        (2, "schedule", ""),
        (3, "schedule", "closed, and stay closed"),
        (0, "ordered", ""),
    ],
)
def test_bound_windows_narrow_what_the_agent_starts_by_itself(at_h: int, reason: str, why: str) -> None:
    intervals = [Interval(SUNDAY + timedelta(hours=2), SUNDAY + timedelta(hours=3))]
    given = msgspec.structs.replace(policy("always"), openings=Openings("d", intervals))
    decision = decide_enforcement(given, reason, SUNDAY + timedelta(hours=at_h))
    assert (decision.may_enforce, decision.trusts_code) == (not why, True)
    assert why in decision.why
    assert (given.tag, policy("always").tag) == ("7-d", "7")


def test_expired_policy_permits_no_run() -> None:
    given = policy("always")
    assert decide_enforcement(given, "ordered", given.expires_at - timedelta(seconds=1)).may_enforce
    expired = decide_enforcement(given, "ordered", given.expires_at)
    assert "expired at 2026-12-14" in expired.why
    assert not expired.trusts_code


@pytest.mark.parametrize(
    ("window", "at", "since"),
    [
        ("Sun 02:00 4h", "2026-11-15 01:59:59", None),
        ("Sun 02:00 4h", "2026-11-15 02:00:00", "2026-11-15 02:00"),
        ("sun 02:00 4h", "2026-11-15 05:59:59", "2026-11-15 02:00"),
        ("Sun 02:00 4h", "2026-11-15 06:00:00", None),
        ("Sun 02:00 4h", "2026-11-16 03:00:00", None),
        # Over midnight, and over the end of the week.
        ("Sat 23:00 2h", "2026-11-15 00:30:00", "2026-11-14 23:00"),
        ("Sun 23:00 3h", "2026-11-16 01:00:00", "2026-11-15 23:00"),
        ("daily 23:30 1h", "2026-11-15 00:29:00", "2026-11-14 23:30"),
        ("Mon 00:00 7d", "2026-11-15 23:59:59", "2026-11-09 00:00"),
        ("Mon 00:00 7d", "2026-11-16 00:00:00", "2026-11-16 00:00"),
        # In a zone: an hour later by our clock in winter, two in summer.
        ("Sun 02:00 1h Europe/Berlin", "2026-11-15 01:30:00", "2026-11-15 01:00"),
        ("Sun 02:00 1h Europe/Berlin", "2026-07-12 00:30:00", "2026-07-12 00:00"),
        ("Sun 02:00 1h Europe/Berlin", "2026-07-12 01:30:00", None),
        # The night in which clocks go back: it is as long as it says.
        ("Sun 01:00 3h Europe/Berlin", "2026-10-25 01:59:00", "2026-10-24 23:00"),
        ("Sun 01:00 3h Europe/Berlin", "2026-10-25 02:00:00", None),
        # A start in the repeated hour is the first of the two, a start in the skipped hour is the moment after that hour.
        ("Sun 02:30 30m Europe/Berlin", "2026-10-25 00:30:00", "2026-10-25 00:30"),
        ("Sun 02:30 30m Europe/Berlin", "2026-10-25 01:30:00", None),
        ("Sun 02:30 30m Europe/Berlin", "2026-03-29 00:59:59", None),
        ("Sun 02:30 30m Europe/Berlin", "2026-03-29 01:00:00", "2026-03-29 01:00"),
        ("Sun 02:30 30m Europe/Berlin", "2026-03-29 01:30:00", None),
    ],
)
def test_window_is_open_from_its_start_for_its_length(window: str, at: str, since: str | None) -> None:
    opened_at = find_open_window([window], datetime.fromisoformat(at).replace(tzinfo=UTC))
    assert opened_at == (None if since is None else datetime.fromisoformat(since).replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Sun 02:00 4h", "Sun 02:00 4h"),
        (" sun  2:00 240m ", "Sun 02:00 4h"),
        ("daily 22:30 90m Europe/Berlin", "daily 22:30 90m Europe/Berlin"),
        ("Wed 00:00 168h UTC", "Wed 00:00 7d"),
    ],
)
def test_window_is_normalised_when_it_is_shown(text: str, shown: str) -> None:
    assert str(parse_rule(text)) == shown
    assert str(parse_rule(shown)) == shown


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not have the form"),
        ("Sunday 02:00 4h", "does not have the form"),
        ("Sun 02:00", "does not have the form"),
        ("Son 02:00 4h", "no day Son"),
        ("Sun 24:00 4h", "no time 24:00"),
        ("Sun 02:60 4h", "no time 02:60"),
        ("Sun 02:00 0m", "between a minute"),
        ("Sun 02:00 8d", "between a minute"),
        ("Sun 02:00 4h Mars/Base", "Mars/Base is not known"),
        ("Sun 02:00 4h ../../etc/passwd", "does not have the form"),
        ("Sun 02:00 4h /etc/passwd", "not known"),
    ],
)
def test_invalid_window_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as raised:
        parse_rule(text)
    assert raised.value.code == "POLICY-001"


def test_signed_bytes_are_the_exact_text_with_a_prefix() -> None:
    text = policy_text(policy("window", "Sun 02:00 4h"))
    assert signed_bytes(text) == b"precast policy 1\n" + text.encode()
    assert text == (
        '{"enforce":"window","expires_at":"2026-12-14T00:00:00Z","issued_at":"2026-11-14T00:00:00Z","node":"web1",'
        '"serial":7,"windows":["Sun 02:00 4h"]}'
    )
