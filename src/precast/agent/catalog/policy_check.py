"""Checks who has signed a policy, and keeps one that is good. Needs `cryptography`, so the daemon never imports it."""

import base64
import binascii
from datetime import datetime
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from precast.agent import issues
from precast.agent.catalog import policy
from precast.agent.identity.credentials import reason_of
from precast.agent.identity.enrolment import Identity
from precast.base.errors import PrecastError
from precast.base.files import write_private
from precast.wire.nodes.policy import Policy, SignedPolicy, Verdict, decide, parse_window, signed_bytes


def accept(root: Path, data: bytes, now: datetime) -> Policy:
    """Keep the policy that came, if it is good and not older than the one that is kept; the one that is kept then.

    Raises DeniedError AGENT-018; then what was kept stays.
    """
    try:
        signed = msgspec.json.decode(data, type=SignedPolicy)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise issues.POLICY_REFUSED.error(reason="it is no policy") from None
    came = verify(root, signed)
    if came.expires_at <= now:
        raise issues.POLICY_REFUSED.error(reason=f"it was good until {came.expires_at:%Y-%m-%d %H:%M:%SZ}")
    kept = policy.read(root)
    if kept is not None and came.serial < kept[1].serial:
        reason = f"it is older than the one that is kept (serial {came.serial}, {kept[1].serial} is kept)"
        raise issues.POLICY_REFUSED.error(reason=reason)
    if kept is not None and came.serial == kept[1].serial and came.issued_at <= kept[1].issued_at:
        return kept[1]
    write_private(policy.place(root), msgspec.json.encode(signed))
    return came


def verify(root: Path, signed: SignedPolicy) -> Policy:
    """What a policy says, if one of the authorities that this node trusts has signed it, for this node. Raises DeniedError AGENT-018."""
    identity = Identity(root)
    if not _is_signed(signed, identity.authority):
        raise issues.POLICY_REFUSED.error(reason="it is not signed by an authority that this node trusts")
    try:
        found = msgspec.json.decode(signed.policy, type=Policy)
        for window in found.windows:
            parse_window(window)
    except msgspec.MsgspecError:
        raise issues.POLICY_REFUSED.error(reason="a newer Precast has written it") from None
    except PrecastError as error:
        raise issues.POLICY_REFUSED.error(reason=error.message) from None
    if found.node != identity.name():
        raise issues.POLICY_REFUSED.error(reason=f"it is for {found.node}, this is {identity.name()}")
    return found


def verdict(root: Path, reason: str, now: datetime) -> Verdict:
    """Whether a run that the daemon starts may enforce: by the policy that is kept, if it is still good."""
    kept = policy.read(root)
    if kept is None:
        return Verdict(False, "it has no policy: an operator sets one with `precast node policy set`")
    try:
        return decide(verify(root, kept[0]), reason, now)
    except PrecastError as error:
        return Verdict(False, error.message)


def _is_signed(signed: SignedPolicy, authority: Path) -> bool:
    try:
        signature = base64.b64decode(signed.signature, validate=True)
        trusted = x509.load_pem_x509_certificates(authority.read_bytes())
    except binascii.Error:
        return False
    except (OSError, ValueError) as error:
        raise issues.CANNOT_KEEP.error(path=authority, reason=reason_of(error)) from error
    return any(_has_signed(one, signature, signed_bytes(signed.policy)) for one in trusted)


def _has_signed(authority: x509.Certificate, signature: bytes, data: bytes) -> bool:
    key = authority.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False  # an authority from before us, which signs no policies
    try:
        key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True
