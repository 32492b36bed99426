"""Decides whether a run may change this machine, or is a no-op, and whether code of the environment is trusted.

A person at the node may do what they like, and is bound only by the default that the settings give. Every other run is bound by
`noop = true` in the agent's settings and by the node's signed policy, and enforces only if neither forbids it.

A node is look-only if its settings say `noop = true`, or if it has no valid policy that lets a run enforce. There, a run that no person
started runs no command that the catalog gives, and plug-ins of the environment do not run with the agent's rights: otherwise whoever may
deploy the environment would have the node, whatever its policy says.
"""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

BY_HAND, ORDERED = "hand", "ordered"
_CONFIGURED = "its own configuration says noop = true"


class RunMode(NamedTuple):
    """Whether a run is a no-op; why, if it was asked to enforce; the policy's reason, if the policy is what forbids it; and whether the
    run is look-only: then no command of the catalog is run."""

    is_noop: bool
    refusal: str = ""
    policy_reason: str = ""
    is_look_only: bool = False


def decide_mode(
    root: Path, reason: str, now: datetime, *, asks_noop: bool, asks_enforce: bool, is_noop_configured: bool
) -> RunMode:
    """The mode of a run that was started for `reason`."""
    if reason == BY_HAND:
        return RunMode(asks_noop or (is_noop_configured and not asks_enforce))
    may_ask = not asks_noop and (reason != ORDERED or asks_enforce)
    if is_noop_configured:
        return RunMode(True, _CONFIGURED if may_ask and asks_enforce else "", is_look_only=True)
    # It imports cryptography, which is slow, and a run by hand does not need it.
    from precast.agent.catalog.policy_check import check_cached_policy

    checked = check_cached_policy(root, reason, now)
    if not may_ask:
        return RunMode(True, is_look_only=not checked.trusts_code)
    if checked.may_enforce:
        return RunMode(False)
    return RunMode(True, checked.why if asks_enforce else "", checked.why, not checked.trusts_code)


def trusts_code(root: Path, now: datetime, *, is_noop_configured: bool) -> bool:
    """Whether code of the environment may run with the agent's rights: not on a look-only node."""
    if is_noop_configured:
        return False
    from precast.agent.catalog.policy_check import check_cached_policy

    return check_cached_policy(root, ORDERED, now).trusts_code
