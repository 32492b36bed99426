"""An authority under an offline root: which certificates are installed, and what is trusted afterwards; with real TLS in memory."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from precast.api.http.tls import ServerTls
from precast.base import https
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.services.identity import certificates
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.intermediate import install, make_request
from precast.services.identity.signer.local import open_local_signer
from tests.unit.api.http.test_tls import TlsPair

NOW = datetime.now(UTC)


class OfflineRoot:
    """A root as a company has it: its key is on no server."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Example root")])
        self.certificate = self.sign(self.name, self.key.public_key())

    def sign(
        self,
        subject: x509.Name,
        key: object,
        *,
        is_authority: bool = True,
        until: datetime = NOW + timedelta(days=3000),
    ) -> x509.Certificate:
        assert isinstance(key, ec.EllipticCurvePublicKey)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - timedelta(days=1))
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )
        return builder.sign(self.key, hashes.SHA256())


@pytest.fixture
def files(tmp_path: Path) -> AuthorityFiles:
    made = AuthorityFiles(tmp_path / "authority")
    with made.created(Authority.new(NOW)):
        return made


@pytest.fixture
def root() -> OfflineRoot:
    return OfflineRoot()


def write(path: Path, *chain: x509.Certificate) -> Path:
    path.write_text("".join(map(certificates.certificate_pem, chain)))
    return path


def signed(files: AuthorityFiles, root: OfflineRoot) -> x509.Certificate:
    """What the root makes of our request."""
    request = x509.load_pem_x509_csr(make_request(files.load()).encode())
    assert request.is_signature_valid
    return root.sign(request.subject, request.public_key())


async def test_nodes_trust_the_intermediate_and_never_the_root(
    files: AuthorityFiles, root: OfflineRoot, tmp_path: Path
) -> None:
    before = files.load()
    own = signed(files, root)
    installed = install(files, write(tmp_path / "chain", own, root.certificate), NOW)
    assert installed.certificate == own
    assert installed.others == (before.certificate,)
    assert root.certificate not in installed.issuers
    signer = await open_local_signer(files, SystemClock(), ["localhost"])
    tls = await ServerTls.create(signer, ["localhost"], SystemClock())
    # The new certificate alone, the earlier one alone, and for people a browser that knows the root.
    for trusted in (own, before.certificate, root.certificate):
        TlsPair(https.trust_authority(certificates.certificate_pem(trusted)), tls.context)
    # A server of a sibling under the same root is nobody for a node.
    key = ec.generate_private_key(ec.SECP256R1())
    sibling = root.sign(own.subject, key.public_key())
    fake = Authority(key, sibling)
    (tmp_path / "fake").mkdir()
    theirs = AuthorityFiles(tmp_path / "fake" / "authority")
    with theirs.created(fake):
        pass
    write(theirs.chain, sibling)
    other = await ServerTls.create(
        await open_local_signer(theirs, SystemClock(), ["localhost"]), ["localhost"], SystemClock()
    )
    with pytest.raises(ssl.SSLCertVerificationError):
        TlsPair(https.trust_authority(signer.current.pem), other.context)


async def test_earlier_certificate_is_retired_and_the_path_to_the_root_stays(
    files: AuthorityFiles, root: OfflineRoot, tmp_path: Path
) -> None:
    own = signed(files, root)
    install(files, write(tmp_path / "chain", own, root.certificate), NOW)
    files.retire()
    now = files.load()
    assert (now.certificate, now.others, now.chain) == (own, (), (own,))
    # The next rotation works as any other.
    successor = Authority.new(NOW, own.subject)
    files.prepare(successor, now.sign_successor(successor, NOW))
    files.switch()
    assert files.load().fingerprint == successor.fingerprint


def test_unusable_chains_are_refused_and_change_nothing(
    files: AuthorityFiles, root: OfflineRoot, tmp_path: Path
) -> None:
    current = files.load()
    own, stranger = signed(files, root), OfflineRoot()
    key, name = current.certificate.public_key(), current.certificate.subject
    chains = {
        "does not have the key": [root.sign(name, stranger.key.public_key()), root.certificate],
        "must have the name": [root.sign(root.name, key), root.certificate],
        "do not form a chain": [own, stranger.certificate],
        "is the present one": [current.certificate, current.certificate],
        "not valid now": [root.sign(name, key, until=NOW - timedelta(hours=1)), root.certificate],
        "not one of an authority": [root.sign(name, key, is_authority=False), root.certificate],
    }
    for reason, chain in chains.items():
        with pytest.raises(PrecastError, match=reason):
            install(files, write(tmp_path / "chain", *chain), NOW)
    with pytest.raises(PrecastError, match="do not form a chain"):
        install(files, write(tmp_path / "chain", own), NOW)
    (tmp_path / "chain").write_text("nothing")
    with pytest.raises(PrecastError, match="no certificates"):
        install(files, tmp_path / "chain", NOW)
    assert files.load().pem == current.pem
    install(files, write(tmp_path / "chain", own, root.certificate), NOW)
    with pytest.raises(PrecastError, match="in progress"):
        install(files, write(tmp_path / "chain", own, root.certificate), NOW)
