"""The server's side of the signer: the public part of the authority, and one method for each verb.

The client does not depend on how requests reach the signer: over a socket (`connection.py`), or within the process for local commands
that may read the key themselves (`local.py`).
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeVar

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from precast.services.identity import certificates
from precast.services.identity.authority import PublicAuthority
from precast.services.identity.issuance import IssuedCertificate, record_of
from precast.services.identity.signer import messages
from precast.services.identity.signer.messages import Credential, EnrolmentRecord, PersonRecord, PolicyRecord
from precast.wire.catalogs.release_pointer import ReleasePointer
from precast.wire.jobs.orders import ExecOrder, TaskOrder
from precast.wire.nodes.policy import Enforce, Openings, SignedPolicy

T = TypeVar("T", bound=msgspec.Struct)


class SignerConnection(Protocol):
    """Takes requests to the signer."""

    async def ask(self, verb: messages.AnyVerb, answer: type[T]) -> T:
        """Return the answer. Raises the signer's error, or UnavailableError CA-030 if there is none in time."""

    async def close(self) -> None:
        """Close the connection."""


class SignerClient:
    """The signer as services use it. `current` is the authority as it was described last."""

    def __init__(self, connection: SignerConnection) -> None:
        self._connection = connection
        self._description: messages.Description | None = None
        self._current: PublicAuthority | None = None
        # Called after the authority has changed, before `refresh` returns.
        self.changed: list[Callable[[], Awaitable[None]]] = []

    @property
    def current(self) -> PublicAuthority:
        assert self._current is not None, "`refresh` is called before the first use"
        return self._current

    @property
    def description(self) -> messages.Description:
        assert self._description is not None, "`refresh` is called before the first use"
        return self._description

    async def refresh(self) -> bool:
        """Ask for the public part of the authority; returns whether it has changed."""
        description = await self._connection.ask(messages.Describe(), messages.Description)
        if description == self._description:
            return False
        own, *others = x509.load_pem_x509_certificates(description.trusted.encode())
        self._description = description
        self._current = PublicAuthority(own, others, _load(description.chain), _load(description.imported))
        for call in self.changed:
            await call()
        return True

    async def close(self) -> None:
        await self._connection.close()

    async def seal_person(self, record: PersonRecord, approver: Credential | None) -> bytes:
        answer = await self._connection.ask(messages.SealPerson(record, approver), messages.Seals)
        return answer.seals[0]

    async def seal_enrolment(self, record: EnrolmentRecord, approver: Credential | None) -> bytes:
        answer = await self._connection.ask(messages.SealEnrolment(record, approver), messages.Seals)
        return answer.seals[0]

    async def seal_policies(
        self, nodes: Sequence[str], enforce: Enforce, windows: list[str], after: int, approver: Credential | None
    ) -> messages.Seals:
        """Seal a policy for at most `messages.MAX_ITEMS` nodes; the answer has the serial of all of them, higher than `after`."""
        verb = messages.SealPolicies(list(nodes), enforce, windows, after, approver)
        return await self._connection.ask(verb, messages.Seals)

    async def seal_command(
        self,
        order: str,
        command: messages.Command,
        nodes: Sequence[str],
        expires_at: datetime,
        approver: Credential | None,
    ) -> list[bytes]:
        """Seal a command for at most `messages.MAX_ITEMS` nodes, in their order."""
        verb = messages.SealCommand(order, command, list(nodes), expires_at, approver)
        return (await self._connection.ask(verb, messages.Seals)).seals

    async def seal_standing(
        self,
        action: str,
        command: messages.Command,
        nodes: Sequence[str],
        expires_at: datetime,
        approver: Credential | None,
    ) -> list[bytes]:
        """Seal a command that an action repeats, for at most `messages.MAX_ITEMS` nodes; without nodes one seal for any node."""
        verb = messages.SealStanding(action, command, list(nodes), expires_at, approver)
        return (await self._connection.ask(verb, messages.Seals)).seals

    async def revoke_token(self, token_id: str) -> None:
        await self._connection.ask(messages.RevokeToken(token_id), messages.Done)

    async def enrol(self, request: str, token: str, record: EnrolmentRecord, seal: bytes) -> IssuedCertificate:
        return await self._issue(messages.Enrol(request, token, record, seal))

    async def approve(self, request: str, extensions: dict[str, str], approver: Credential | None) -> IssuedCertificate:
        return await self._issue(messages.Approve(request, extensions, approver))

    async def renew(self, request: str, certificate: str, proof: str) -> IssuedCertificate:
        return await self._issue(messages.Renew(request, certificate, proof))

    async def certify_server(self, key: ec.EllipticCurvePublicKey, hosts: Sequence[str]) -> x509.Certificate:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        der = key.public_bytes(serialization.Encoding.DER, form)
        answer = await self._connection.ask(messages.CertifyServer(der, list(hosts)), messages.Issued)
        return x509.load_pem_x509_certificate(answer.certificate.encode())

    async def sign_policy(self, record: PolicyRecord, seal: bytes, openings: Openings | None = None) -> SignedPolicy:
        return await self._connection.ask(messages.SignPolicy(record, seal, openings), SignedPolicy)

    async def sign_release(self, release: ReleasePointer) -> str:
        return (await self._connection.ask(messages.SignRelease(release), messages.Signature)).signature

    async def sign_order(
        self, order: ExecOrder, token: str, sealed_until: datetime, seal: bytes, action: str = ""
    ) -> str:
        verb = messages.SignOrder(order, token, sealed_until, seal, action)
        return (await self._connection.ask(verb, messages.Signature)).signature

    async def sign_task(
        self, order: TaskOrder, job: str, token: str, sealed_until: datetime, seal: bytes, action: str = ""
    ) -> str:
        verb = messages.SignTask(order, job, token, sealed_until, seal, action)
        return (await self._connection.ask(verb, messages.Signature)).signature

    async def sign_crl(self, revocations: Sequence[messages.Revocation], *, is_last: bool) -> messages.Crl:
        return await self._connection.ask(messages.SignCrl(list(revocations), is_last), messages.Crl)

    async def rotate(
        self,
        step: Literal["prepare", "switch", "retire"],
        attempt: str,
        approver: Credential | None,
        *,
        is_continued: bool = False,
    ) -> None:
        """Take one step of a rotation. Raises ConflictError CA-012 while another attempt is under way."""
        await self._connection.ask(messages.Rotate(step, attempt, is_continued, approver), messages.Done)
        await self.refresh()

    async def _issue(self, verb: messages.Enrol | messages.Approve | messages.Renew) -> IssuedCertificate:
        issued = await self._connection.ask(verb, messages.Issued)
        signed = x509.load_pem_x509_certificate(issued.certificate.encode())
        authority = x509.load_pem_x509_certificate(issued.trusted.encode())
        record = record_of(signed, issued.extensions, certificates.fingerprint(authority), issued.issued_at)
        return IssuedCertificate(issued.certificate, record, issued.trusted)


def _load(pem: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem.encode()) if pem else []
