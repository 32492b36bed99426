"""Enrols many nodes at once: calls the enrolment service directly, beside the running server, without a request for each node."""

import asyncio
import secrets
import shutil
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from precast.base import https
from precast.base.ids import TimeOrderedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.certificates import private_pem
from precast.services.identity.enrolment import EnrolmentService
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.signer.local import open_local_signer
from precast.services.nodes.classification import Classifier
from precast.services.work_kinds import DECIDE
from precast.store.engine import location
from precast.store.engine.connect import connect
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.identity.tokens import Tokens
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.wire.identity.bodies import EnrolBody, NewEnrolmentToken

AT_ONCE = 100


def enrol(data: Path, database: str, directory: Path, count: int) -> None:
    """Enrol nodes of the site in `data`. Writes key and certificate to directory/NODE, and the authority to directory/authority.pem."""
    asyncio.run(_enrol(data, database, directory, names(count)))
    shutil.copy(data / "authority" / "certificate.pem", directory / "authority.pem")


def names(count: int) -> list[str]:
    return [f"node{number:05d}" for number in range(count)]


def context(directory: Path, name: str) -> ssl.SSLContext:
    """The TLS context with which a node opens connections."""
    tls = https.trust_authority((directory / "authority.pem").read_text())
    tls.load_cert_chain(directory / name / "certificate.pem", directory / name / "key.pem")
    return tls


async def _enrol(data: Path, database: str, directory: Path, node_names: list[str]) -> None:
    opened = await connect(location.parse(database))
    try:
        ids, tokens = TimeOrderedIds(opened.clock), Tokens(opened)
        audit = AuditLog(opened, ids)
        signer = await open_local_signer(AuthorityFiles(data / "authority"), opened.clock)
        recognition = RecognitionService(opened, NodeCertificates(opened), audit)
        work = WorkQueue(opened, [DECIDE])
        classifier = Classifier(Fleet(opened), Classifications(opened), work)
        guard = ClockGuard(opened, "lab")
        service = EnrolmentService(
            opened, NodeCertificates(opened), tokens, audit, signer, recognition, ids, secrets, classifier, guard
        )
        token = (await service.create_token(NewEnrolmentToken("node*", uses=len(node_names)), "system")).token
        for at in range(0, len(node_names), AT_ONCE):
            batch = node_names[at : at + AT_ONCE]
            await asyncio.gather(*(_enrol_node(service, directory / name, token) for name in batch))
    finally:
        await opened.close()


async def _enrol_node(service: EnrolmentService, directory: Path, token: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, directory.name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    enrolled = await service.enrol(EnrolBody(request.public_bytes(serialization.Encoding.PEM).decode(), token))
    directory.mkdir(parents=True)
    (directory / "key.pem").write_bytes(private_pem(key))
    (directory / "certificate.pem").write_text(enrolled.certificate)
