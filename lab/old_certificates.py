"""Replaces a node's certificate by one that was issued long ago."""

import asyncio
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lab.site import Site
from precast.agent.identity.enrolment import Identity
from precast.base.files import write_private
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.certificates import certificate_pem
from precast.services.identity.issuance import record_of
from precast.store.engine import location
from precast.store.engine.connect import connect
from precast.store.identity.certificates import NodeCertificates


def age(site: Site, identity: Identity, name: str, by: timedelta) -> None:
    """Give a node a certificate that was issued `by` ago, and register it on the server."""
    asyncio.run(_age(site, identity, name, by))


async def _age(site: Site, identity: Identity, name: str, by: timedelta) -> None:
    key = serialization.load_pem_private_key(identity.key.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    authority = AuthorityFiles(site.directory / "authority").load()
    database = await connect(location.parse(str(site.directory / "precast.db")))
    try:
        issued_at = database.clock.now() - by
        signed = authority.sign_node(request, issued_at, {})
        record = record_of(signed, {}, authority.fingerprint, issued_at)
        await database.write(NodeCertificates(database).add, record)
    finally:
        await database.close()
    write_private(identity.certificate, certificate_pem(signed).encode())
