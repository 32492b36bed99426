"""Decides whether a run may change this machine, or is a no-op.

A person at the node may do what they like, and is bound only by the default that the settings give. Every other run is bound by
`noop = true` in the agent's settings and by the node's signed policy, and enforces only if neither forbids it.
"""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

BY_HAND, ORDERED = "hand", "ordered"


class RunMode(NamedTuple):
    """Whether a run is a no-op; why, if it was asked to enforce; and the policy's reason, if the policy is what forbids it."""

    is_noop: bool
    refusal: str = ""
    policy_reason: str = ""


def decide_mode(
    root: Path, reason: str, now: datetime, *, asks_noop: bool, asks_enforce: bool, is_noop_configured: bool
) -> RunMode:
    """The mode of a run that was started for `reason`."""
    if reason == BY_HAND:
        return RunMode(asks_noop or (is_noop_configured and not asks_enforce))
    if asks_noop or (reason == ORDERED and not asks_enforce):
        return RunMode(True)
    if is_noop_configured:
        return RunMode(True, "its own configuration says noop = true" if asks_enforce else "")
    # It imports cryptography, which is slow, and only runs that may enforce need it.
    from precast.agent.catalog.policy_check import check_cached_policy

    checked = check_cached_policy(root, reason, now)
    if checked.may_enforce:
        return RunMode(False)
    return RunMode(True, checked.why if asks_enforce else "", checked.why)
