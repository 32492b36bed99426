"""The verbs that sign documents: policies, pointers to released catalogs, and the list of revoked certificates."""

import base64
from datetime import UTC, datetime, timedelta

from precast.base.digests import is_digest
from precast.services.identity import issues
from precast.services.identity.signer.context import SignerContext, SignerOperation
from precast.services.identity.signer.messages import (
    MAX_ITEMS,
    Crl,
    Revocation,
    Signature,
    SignCrl,
    SignPolicy,
    SignRelease,
)
from precast.wire.catalogs.release_pointer import release_text, signed_release_bytes
from precast.wire.nodes.policy import (
    MAX_OPENINGS,
    POLICY_FOR,
    Policy,
    SignedPolicy,
    policy_text,
    signed_bytes,
)

# The times of a revocation: X.509 has none before the first; certificates of an imported authority may be valid for long.
EARLIEST = datetime(1950, 1, 1, tzinfo=UTC)
CLOCK_DIFFERENCE = timedelta(days=1)
LONGEST_CERTIFICATE = timedelta(days=40 * 365)


def sign_policy(context: SignerContext, verb: SignPolicy, operation: SignerOperation) -> SignedPolicy:
    """Sign a policy that an operator has set: its record is sealed."""
    record = verb.record
    operation.subject, operation.detail["enforce"] = record.node[:100], record.enforce
    if not context.seal_key.is_sealed(record, verb.seal):
        raise issues.SIGNER_REFUSED.error(reason="the record of the policy is not sealed by this signer")
    if verb.openings is not None and len(verb.openings.intervals) > MAX_OPENINGS:
        raise issues.SIGNER_REFUSED.error(reason="these are too many intervals")
    # The openings are not sealed: they only narrow what the policy permits.
    content = (record.node, record.serial, record.enforce, record.windows)
    policy = Policy(*content, operation.now, operation.now + POLICY_FOR, verb.openings)
    text = policy_text(policy)
    signature = context.authority.newest().sign_document(signed_bytes(text))
    return SignedPolicy(text, base64.b64encode(signature).decode())


def sign_release(context: SignerContext, verb: SignRelease, operation: SignerOperation) -> Signature:
    """Sign the pointer to the catalog that is released to a node."""
    release = verb.release
    operation.subject, operation.detail["sequence"] = release.node[:100], str(release.sequence)
    return sign(context, signed_release_bytes(release_text(release)))


def sign(context: SignerContext, data: bytes) -> Signature:
    """Sign the bytes of a document, which name its sort."""
    return Signature(base64.b64encode(context.authority.newest().sign_document(data)).decode())


def sign_crl(context: SignerContext, verb: SignCrl, operation: SignerOperation) -> Crl:
    """Add revocations to the list, and sign it after the last."""
    operation.subject = f"{len(verb.revocations)} revocations"
    revocations = context.state.revocations
    if len(verb.revocations) > MAX_ITEMS or not revocations.has_room_for(verb.revocations):
        raise issues.SIGNER_REFUSED.error(reason="these are too many revocations")
    if not all(_is_signable(row, operation.now) for row in verb.revocations):
        raise issues.SIGNER_REFUSED.error(reason="a serial, an issuer or a time of a revocation is invalid")
    revocations.add(verb.revocations, operation.now)
    return revocations.sign(context.authority.newest(), operation.now) if verb.is_last else Crl(b"")


def _is_signable(row: Revocation, now: datetime) -> bool:
    """Whether a CRL can name it, and it leaves the list some day. What is on the list once is there for every later CRL."""
    is_dated = EARLIEST <= row.revoked_at <= now + CLOCK_DIFFERENCE and row.not_after <= now + LONGEST_CERTIFICATE
    return is_dated and is_digest(row.authority) and _is_serial(row.serial)


def _is_serial(text: str) -> bool:
    return 0 < len(text) <= 40 and set(text) <= set("0123456789abcdef") and int(text, 16) > 0
