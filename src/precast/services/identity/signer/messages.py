"""What the server asks the signer, and what it answers. Every request names what is to be signed and brings the proof of the right to it.

There is no request to sign given bytes. Unknown fields are refused, so both sides always mean the same.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from precast.wire.catalogs.release_pointer import ReleasePointer
from precast.wire.jobs.orders import ExecOrder, TaskOrder
from precast.wire.nodes.policy import Enforce, Openings, SignedPolicy

# How many policies, or revocations, one request may contain.
MAX_ITEMS = 1000

# A time without a zone cannot be compared with ours.
Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a message."""


class PersonRecord(Body, frozen=True):
    """The stored token of a person, without what may change later."""

    id: str
    secret_hash: bytes
    person: str
    role: str
    environments: list[str]
    expires_at: Time


class EnrolmentRecord(Body, frozen=True):
    """The stored enrolment token, without what may change later."""

    id: str
    secret_hash: bytes
    pattern: str
    extensions: dict[str, str]
    uses: int
    expires_at: Time


class PolicyRecord(Body, frozen=True):
    """The stored policy of a node."""

    node: str
    serial: int
    enforce: Enforce
    windows: list[str]


class Command(Body, frozen=True):
    """What a node shall run, and its limits: either a command, or the program of a task."""

    argv: list[str]
    timeout_s: float
    output_bytes: int
    why: str
    program: str = ""


class CommandRecord(Body, frozen=True):
    """A command that a person has ordered from a node, as it is stored with its job."""

    node: str
    order: str
    command: str  # the digest of the `Command`
    token: str  # the id of the person's token
    expires_at: Time  # no order of it begins later


class StandingRecord(Body, frozen=True):
    """A command that a person has ordered as an action, for every due time until a time, as it is stored with the action."""

    action: str
    node: str  # empty: any node, because the action finds its nodes when it starts
    command: str  # the digest of the `Command`
    token: str  # the id of the person's token
    expires_at: Time  # no order of it begins later


class Credential(Body, frozen=True):
    """A person's token as they presented it, and its stored record with the seal."""

    token: str
    record: PersonRecord
    seal: bytes

    def __repr__(self) -> str:
        return f"Credential({self.record.id})"


class Verb(Body, frozen=True, tag_field="verb"):
    """A request to the signer."""


class Describe(Verb, frozen=True, tag="describe"):
    """Asks for the public part of the authority."""


class SealPerson(Verb, frozen=True, tag="seal_person"):
    """Asks for the seal of a new token of a person; an admin approves it, or a local command."""

    record: PersonRecord
    approver: Credential | None


class SealEnrolment(Verb, frozen=True, tag="seal_enrolment"):
    """Asks for the seal of a new enrolment token; an operator approves it."""

    record: EnrolmentRecord
    approver: Credential | None


class SealPolicies(Verb, frozen=True, tag="seal_policies"):
    """Asks for the seals of the policies of nodes; an operator approves them. The signer chooses the serial."""

    nodes: list[str]
    enforce: Enforce
    windows: list[str]
    after: int  # the highest serial that one of the nodes has
    approver: Credential | None


class SealCommand(Verb, frozen=True, tag="seal_command"):
    """Asks for the seals of a command for nodes; a person with the role for commands orders it."""

    order: str
    command: Command
    nodes: list[str]
    expires_at: Time
    approver: Credential | None


class SealStanding(Verb, frozen=True, tag="seal_standing"):
    """Asks for the seals of a command that an action repeats; without nodes, for one seal that is valid for any node."""

    action: str
    command: Command
    nodes: list[str]
    expires_at: Time
    approver: Credential | None


class RevokeToken(Verb, frozen=True, tag="revoke_token"):
    """Makes the signer refuse a token from now on. It needs no approval: it only takes rights away."""

    id: str


class Enrol(Verb, frozen=True, tag="enrol"):
    """Asks for a node's first certificate by an enrolment token."""

    request: str
    token: str
    record: EnrolmentRecord
    seal: bytes

    def __repr__(self) -> str:
        return f"Enrol({self.record.id})"


class Approve(Verb, frozen=True, tag="approve"):
    """Asks for the certificate of a pending request, which an operator approves."""

    request: str
    extensions: dict[str, str]
    approver: Credential | None


class Renew(Verb, frozen=True, tag="renew"):
    """Asks for the next certificate of a node that proves to have the key of the last one."""

    request: str
    certificate: str
    proof: str


class CertifyServer(Verb, frozen=True, tag="certify_server"):
    """Asks for a certificate of a server."""

    key: bytes  # SubjectPublicKeyInfo in DER
    hosts: list[str]


class SignPolicy(Verb, frozen=True, tag="sign_policy"):
    """Asks for the signed document of a policy that an operator has set, narrowed to the openings of maintenance windows."""

    record: PolicyRecord
    seal: bytes
    openings: Openings | None = None


class SignRelease(Verb, frozen=True, tag="sign_release"):
    """Asks for the signature of the pointer to the catalog that is released to a node."""

    release: ReleasePointer


class SignOrder(Verb, frozen=True, tag="sign_order"):
    """Asks for the signature of an order to a node. With `token` and `sealed_until`, the order makes the record that is sealed: a
    `CommandRecord`, or with `action` a `StandingRecord`."""

    order: ExecOrder
    token: str
    sealed_until: Time
    seal: bytes
    action: str = ""


class SignTask(Verb, frozen=True, tag="sign_task"):
    """Asks for the signature of a task to a node. The order makes the record that is sealed, a `StandingRecord` of the job, or of the
    `action` that has started it."""

    order: TaskOrder
    job: str
    token: str
    sealed_until: Time
    seal: bytes
    action: str = ""


class Revocation(Body, frozen=True):
    """A revoked certificate."""

    serial: str
    authority: str  # fingerprint of its issuer
    revoked_at: Time
    not_after: Time


class SignCrl(Verb, frozen=True, tag="sign_crl"):
    """Adds revocations to the list; the last request of a series asks for the signed list."""

    revocations: list[Revocation]
    is_last: bool


class Rotate(Verb, frozen=True, tag="rotate"):
    """Asks for one step of the rotation of the authority, which an admin approves."""

    step: Literal["prepare", "switch", "retire"]
    attempt: str  # the same for the steps of one rotation
    is_continued: bool  # whether the next step of this attempt follows, so that no other attempt may come between
    approver: Credential | None


AnyVerb = (
    Describe
    | SealPerson
    | SealEnrolment
    | SealPolicies
    | SealCommand
    | SealStanding
    | RevokeToken
    | Enrol
    | Approve
    | Renew
    | CertifyServer
    | SignPolicy
    | SignRelease
    | SignOrder
    | SignTask
    | SignCrl
    | Rotate
)


class Description(Body, frozen=True):
    """The public part of the authority."""

    trusted: str  # PEM, the authority's own certificate first
    chain: str  # PEM
    imported: str  # PEM
    is_prepared: bool
    user: str
    is_encrypted: bool


class Seals(Body, frozen=True):
    """Seals, in the order of what was asked for, and the serial of sealed policies."""

    seals: list[bytes]
    serial: int = 0


class Issued(Body, frozen=True):
    """A certificate and the authority that signed it."""

    certificate: str
    trusted: str  # PEM
    issued_at: datetime
    extensions: dict[str, str] = {}


class Signature(Body, frozen=True):
    """The signature of a document, in base64."""

    signature: str


class Crl(Body, frozen=True):
    """The signed list of revoked certificates; empty while further revocations follow."""

    der: bytes
    next_update: datetime | None = None


class Done(Body, frozen=True):
    """It is done."""


AnyAnswer = Description | Seals | Issued | SignedPolicy | Signature | Crl | Done


class Failure(Body, frozen=True):
    """Why the signer does not do it: the fields of a PrecastError."""

    kind: str
    code: str
    message: str
    hint: str


class Request(Body, frozen=True):
    """A request on a connection; the answer has the same number."""

    number: int
    verb: AnyVerb


class Answer(Body, frozen=True):
    """The answer to a request: a result, which the asker knows how to decode, or a failure."""

    number: int
    result: bytes = b""  # a message in MessagePack
    failure: Failure | None = None
