"""Bodies of the API about identity."""

from datetime import datetime
from typing import Any

import msgspec


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
    """A certificate, and what to trust."""

    certificate: str
    authority: str


class RequestBody(msgspec.Struct, frozen=True):
    """A machine asks for a certificate that an operator decides on, or asks what came of it."""

    request: str  # PEM


class RequestAnswer(msgspec.Struct, frozen=True):
    """What came of a request: it waits, or here is the certificate."""

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
        """Where in the list it stands: the next page comes after it."""
        return f"{self.node}:{self.fingerprint}"


class Signature(msgspec.Struct, frozen=True):
    """Which request to sign, and what goes into the certificate."""

    fingerprint: str = ""
    extensions: dict[str, str] = {}


class Rejection(msgspec.Struct, frozen=True):
    """Which request to reject, and why, for the audit log."""

    fingerprint: str = ""
    why: str = ""


class NewEnrolmentToken(msgspec.Struct, frozen=True):
    """What a token for enrolment shall allow."""

    pattern: str
    extensions: dict[str, str] = {}
    uses: int = 1
    valid_s: int = 3600


class NewPersonToken(msgspec.Struct, frozen=True):
    """Whom a token shall stand for."""

    person: str
    role: str
    environments: list[str] = []
    valid_s: int = 90 * 86400


class TokenBody(msgspec.Struct, frozen=True):
    """A token, shown this once."""

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

    node: str
    serial: str
    issued_at: datetime
    not_after: datetime
    extensions: dict[str, str]
    revoked_at: datetime | None
    revoked_why: str | None
    superseded_at: datetime | None = None


class RotationBody(msgspec.Struct, frozen=True):
    """How far a rotation of the authority is: fingerprints, and the nodes that still use an old one."""

    current: str
    others: list[str]
    is_prepared: bool
    in_use_by: list[str]


class Rotate(msgspec.Struct, frozen=True):
    """Begin a rotation, or only prepare it."""

    prepare_only: bool = False


class Retire(msgspec.Struct, frozen=True):
    """End a rotation, if need be with certificates of the old authority in use."""

    is_forced: bool = False


class AuditRow(msgspec.Struct, frozen=True):
    """A deed as lists show it."""

    id: str
    at: datetime
    actor: str
    action: str
    target: str
    detail: dict[str, Any]


class Deed(msgspec.Struct, frozen=True):
    """Why something is done, for the audit log."""

    why: str = ""


class Done(msgspec.Struct, frozen=True):
    """What a deed touched."""

    touched: list[str]
