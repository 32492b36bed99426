"""Whether a run may enforce: by its reason, its flags, the agent's settings and the node's policy."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from precast.agent.catalog import policy_check
from precast.agent.catalog.enforcement import RunMode, decide_mode, trusts_code
from precast.wire.nodes.policy import EnforceDecision

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def decide(reason: str, *flags: str) -> RunMode:
    return decide_mode(
        Path("/nowhere"),
        reason,
        NOW,
        asks_noop="--noop" in flags,
        asks_enforce="--enforce" in flags,
        is_noop_configured="noop = true" in flags,
    )


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> list[EnforceDecision]:
    """The decision of the node's policy, which a test may replace."""
    decisions = [EnforceDecision(True, "", trusts_code=True)]
    monkeypatch.setattr(policy_check, "check_cached_policy", lambda *_: decisions[0])
    return decisions


@pytest.mark.parametrize(
    ("flags", "is_noop"),
    [((), False), (("--noop",), True), (("noop = true",), True), (("noop = true", "--enforce"), False)],
)
def test_person_at_the_node_is_not_bound_by_the_policy(
    policy: list[EnforceDecision], flags: tuple[str, ...], is_noop: bool
) -> None:
    policy[0] = EnforceDecision(False, "no policy")
    assert decide("hand", *flags) == RunMode(is_noop)


@pytest.mark.parametrize("reason", ["schedule", "released"])
def test_run_of_the_daemon_enforces_if_settings_and_policy_allow_it(policy: list[EnforceDecision], reason: str) -> None:
    assert decide(reason) == RunMode(False)
    assert decide(reason, "--noop") == RunMode(True)
    assert decide(reason, "noop = true") == RunMode(True, is_look_only=True)
    policy[0] = EnforceDecision(False, "outside its windows", trusts_code=True)
    assert decide(reason) == RunMode(True, "", "outside its windows")


def test_order_enforces_only_if_it_asks_to_and_reports_why_it_may_not(policy: list[EnforceDecision]) -> None:
    assert decide("ordered") == RunMode(True)
    assert decide("ordered", "--enforce") == RunMode(False)
    refused = decide("ordered", "--enforce", "noop = true")
    assert refused == RunMode(True, "its own configuration says noop = true", is_look_only=True)
    policy[0] = EnforceDecision(False, "no policy")
    assert decide("ordered", "--enforce") == RunMode(True, "no policy", "no policy", is_look_only=True)


@pytest.mark.parametrize("reason", ["schedule", "released", "ordered"])
def test_run_that_no_policy_lets_enforce_is_look_only_also_if_a_no_op_was_asked_for(
    policy: list[EnforceDecision], reason: str
) -> None:
    policy[0] = EnforceDecision(False, "its policy permits no run to enforce")
    assert decide(reason, "--noop") == RunMode(True, is_look_only=True)
    assert decide(reason).is_look_only
    assert not decide("hand", "--noop").is_look_only
    assert not trusts_code(Path("/nowhere"), NOW, is_noop_configured=False)


def test_code_is_trusted_where_the_policy_lets_a_run_enforce_and_the_settings_do_not_forbid_it(
    policy: list[EnforceDecision],
) -> None:
    assert trusts_code(Path("/nowhere"), NOW, is_noop_configured=False)
    assert not trusts_code(Path("/nowhere"), NOW, is_noop_configured=True)
