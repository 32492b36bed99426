"""Checks the signature of a policy, and caches a valid one. Needs `cryptography`, so the daemon never imports it."""

from datetime import datetime
from pathlib import Path

import msgspec

from precast.agent import issues
from precast.agent.catalog import cached_policy
from precast.agent.catalog.signatures import is_signed
from precast.agent.identity.enrolment import Identity
from precast.base.errors import PrecastError
from precast.base.files import write_private
from precast.wire.nodes.policy import (
    EnforceDecision,
    Policy,
    SignedPolicy,
    decide_enforcement,
    signed_bytes,
)
from precast.wire.windows.rules import parse_rule


def accept(root: Path, data: bytes, now: datetime) -> Policy:
    """Cache a policy from a server if it is valid and not older than the cached one. Returns the policy that is cached then.

    Raises DeniedError AGENT-018; then the cached policy stays.
    """
    try:
        signed = msgspec.json.decode(data, type=SignedPolicy)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise issues.POLICY_REFUSED.error(reason="it is not a policy document") from None
    received = verify(root, signed)
    if received.expires_at <= now:
        raise issues.POLICY_REFUSED.error(reason=f"it expired at {received.expires_at:%Y-%m-%d %H:%M:%SZ}")
    _, cached = cached_policy.read_policy(root) or (None, None)
    if cached is not None and received.serial < cached.serial:
        reason = (
            f"it is older than the cached one (its serial is {received.serial}, that of the cached one {cached.serial})"
        )
        raise issues.POLICY_REFUSED.error(reason=reason)
    if cached is not None and received.serial == cached.serial and received.issued_at <= cached.issued_at:
        return cached
    write_private(cached_policy.policy_path(root), msgspec.json.encode(signed))
    return received


def verify(root: Path, signed: SignedPolicy) -> Policy:
    """Decode a policy that is for this node and signed by an authority that this node trusts. Raises DeniedError AGENT-018."""
    identity = Identity(root)
    if not is_signed(identity.authority, signed_bytes(signed.policy), signed.signature):
        raise issues.POLICY_REFUSED.error(reason="it is not signed by an authority that this node trusts")
    try:
        policy = msgspec.json.decode(signed.policy, type=Policy)
        for window in policy.windows:
            parse_rule(window)
    except msgspec.MsgspecError:
        raise issues.POLICY_REFUSED.error(reason="a newer Precast has written it") from None
    except PrecastError as error:
        raise issues.POLICY_REFUSED.error(reason=error.message) from None
    if policy.node != identity.name():
        raise issues.POLICY_REFUSED.error(reason=f"it is for {policy.node}, and this node is {identity.name()}")
    return policy


def check_cached_policy(root: Path, reason: str, now: datetime) -> EnforceDecision:
    """Decide by the cached policy, if it is still valid, whether a run that the daemon starts may enforce."""
    cached = cached_policy.read_policy(root)
    if cached is None:
        return EnforceDecision(False, "the node has no policy: an operator sets one with `precast node policy set`")
    try:
        return decide_enforcement(verify(root, cached[0]), reason, now)
    except PrecastError as error:
        return EnforceDecision(False, error.message)
