"""Bodies of the API about identity."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

# How long after its expiry a certificate is still renewed.
RENEWAL_GRACE = timedelta(days=30)


class AuthorityBody(msgspec.Struct, frozen=True):
    """The certificates that nodes and people trust, as PEM."""

    certificates: str


class EnrolBody(msgspec.Struct, frozen=True):
    """A node asks for its first certificate."""

    request: str = msgspec.field()  # PEM
    token: str = ""


class RenewBody(msgspec.Struct, frozen=True):
    """A node asks for its next certificate, and proves that it has the key of the last one."""

    request: str  # PEM, of the new key
    certificate: str  # PEM, the last one
    proof: str  # base64: the old key's signature over the request's DER form


class CertificateBody(msgspec.Struct, frozen=True):
    """A certificate, and the certificates of the authority to trust."""

    certificate: str
    authority: str


class RequestBody(msgspec.Struct, frozen=True):
    """A machine asks for a certificate that an operator has to sign, or asks for the decision."""

    request: str  # PEM


class RequestAnswer(msgspec.Struct, frozen=True):
    """The state of a request: it waits, or the certificate is in the answer."""

    fingerprint: str  # of the key, for the operator to compare
    expires_at: datetime
    certificate: CertificateBody | None = None


class RequestRow(msgspec.Struct, frozen=True):
    """A request as lists show it."""

    node: str
    fingerprint: str
    address: str
    requested_at: datetime
    expires_at: datetime

    @property
    def place(self) -> str:
        """Its position in the list, with which the next page is requested."""
        return f"{self.node}:{self.fingerprint}"


class SignBody(msgspec.Struct, frozen=True):
    """Which request to sign, and what goes into the certificate."""

    fingerprint: str = ""
    extensions: dict[str, str] = {}


class RejectBody(msgspec.Struct, frozen=True):
    """Which request to reject, and why, for the audit log."""

    fingerprint: str = ""
    why: str = ""


class NewEnrolmentToken(msgspec.Struct, frozen=True):
    """What a new enrolment token allows."""

    pattern: str
    extensions: dict[str, str] = {}
    uses: int = 1
    valid_s: int = 3600


class NewPersonToken(msgspec.Struct, frozen=True):
    """The person and role of a new token."""

    person: str
    role: str
    environments: list[str] = []
    valid_s: int = 90 * 86400


class TokenBody(msgspec.Struct, frozen=True):
    """A new token, which is shown only once."""

    id: str
    token: str
    expires_at: datetime


class TokenRow(msgspec.Struct, frozen=True):
    """A token as lists show it."""

    id: str
    sort: str
    subject: str
    allows: str
    expires_at: datetime
    is_good: bool


class CertificateRow(msgspec.Struct, frozen=True):
    """A certificate as lists show it."""

    fingerprint: str
    node: str
    serial: str
    issued_at: datetime
    not_after: datetime
    extensions: dict[str, str]
    revoked_at: datetime | None
    revoked_why: str | None
    superseded_at: datetime | None = None


class RotationBody(msgspec.Struct, frozen=True):
    """The progress of a rotation of the authority: fingerprints, and the nodes that still use an old certificate."""

    current: str
    others: list[str]
    is_prepared: bool
    in_use_by: list[str]


class RotateBody(msgspec.Struct, frozen=True):
    """Begin a rotation, or only prepare it."""

    prepare_only: bool = False


class RetireBody(msgspec.Struct, frozen=True):
    """End a rotation; `is_forced` ends it even if certificates of the old authority are in use."""

    is_forced: bool = False


class AuditRow(msgspec.Struct, frozen=True):
    """An action of the audit log as lists show it."""

    id: str
    at: datetime
    actor: str
    action: str
    target: str
    detail: dict[str, Any]


class AuditReason(msgspec.Struct, frozen=True):
    """The reason of an action, for the audit log."""

    why: str = ""


class ActionResult(msgspec.Struct, frozen=True):
    """What an action changed."""

    touched: list[str]
