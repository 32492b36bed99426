"""The identity services of one server, and requests of machines, shared by the tests of identity."""

import base64
import secrets

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from precast.base.errors import PrecastError
from precast.base.ids import TimeOrderedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.authority import PublicAuthority
from precast.services.identity.enrolment import EnrolmentService
from precast.services.identity.people import PeopleService
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.requests import RequestService
from precast.services.identity.rotation import RotationService
from precast.services.identity.signer.client import SignerClient
from precast.services.nodes.classification import Classifier
from precast.services.work_kinds import ASK_ENC, DECIDE
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.identity.requests import EnrolmentRequests
from precast.store.identity.tokens import Tokens
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.wire.identity import tokens as wire
from precast.wire.identity.bodies import (
    CertificateBody,
    EnrolBody,
    NewEnrolmentToken,
    RenewBody,
    RequestAnswer,
    RequestBody,
)

Key = ec.EllipticCurvePrivateKey


def new_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def request_of(key: Key, name: str) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def renewal(old_key: Key, old: str, new: Key, name: str) -> RenewBody:
    pem = request_of(new, name)
    der = x509.load_pem_x509_csr(pem.encode()).public_bytes(serialization.Encoding.DER)
    proof = old_key.sign(der, ec.ECDSA(hashes.SHA256()))
    return RenewBody(pem, old, base64.b64encode(proof).decode())


class Site:
    """The identity services of one server."""

    def __init__(self, database: Database, signer: SignerClient) -> None:
        self.database = database
        self.signer = signer
        ids = TimeOrderedIds(database.clock)
        self.nodes, self.tokens, self.audit = NodeCertificates(database), Tokens(database), AuditLog(database, ids)
        self.fleet = Fleet(database)
        self.recognition = RecognitionService(database, self.nodes, self.audit)
        self.work = WorkQueue(database, [DECIDE, ASK_ENC])
        self.classifier = Classifier(self.fleet, Classifications(database), self.work)
        self.guard = ClockGuard(database, "boot")
        self.enrolment = EnrolmentService(
            database,
            self.nodes,
            self.tokens,
            self.audit,
            signer,
            self.recognition,
            ids,
            secrets,
            self.classifier,
            self.guard,
        )
        self.rotation = RotationService(database, self.nodes, self.audit, signer, ids, settle_s=0)
        self.people = PeopleService(database, self.tokens, self.audit, ids, secrets, signer)
        self.requests = RequestService(
            database, self.nodes, EnrolmentRequests(database), self.audit, signer, self.classifier, self.guard
        )

    @property
    def authority(self) -> PublicAuthority:
        return self.signer.current

    async def token(self, pattern: str = "*", uses: int = 1, **extensions: str) -> str:
        wanted = NewEnrolmentToken(pattern, extensions, uses)
        return (await self.enrolment.create_token(wanted, "person:ann")).token

    async def enrol(self, name: str, token: str, key: Key | None = None) -> CertificateBody:
        return await self.enrolment.enrol(EnrolBody(request_of(key or new_key(), name), token))

    async def request(self, name: str, key: Key, address: str = "192.0.2.1") -> RequestAnswer:
        return await self.requests.submit(RequestBody(request_of(key, name)), address)

    async def uses_left(self, token: str) -> int:
        stored = await self.tokens.find_enrolment_token(wire.parse_enrolment(token).id)
        assert stored is not None
        return stored.uses_left

    async def audit_entries(self) -> list[tuple[str, str, str]]:
        return [(entry.actor, entry.action, entry.target) for entry in reversed(await self.audit.read_latest())]


async def code_of(attempt: object) -> str:
    """The code of the error that an attempt raises."""
    with pytest.raises(PrecastError) as caught:
        await attempt  # type: ignore[misc] # any awaitable
    return caught.value.code
