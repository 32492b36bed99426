"""A Puppet CA goes on signing after its import: the signer renews the certificates that were imported, and no other one of that CA."""

import base64
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from lab.puppet_ca import PuppetAuthority
from precast.app.root import initialise
from precast.app.settings import ServerSettings
from precast.base.errors import UnavailableError
from precast.services.identity.issuance import IssuedCertificate
from tests.component.identity.signer_socket import SocketSite, serving
from tests.component.identity.test_compromised_server import refused, request_of


async def renew(site: SocketSite, ssldir: Path, name: str) -> IssuedCertificate:
    """Ask for our certificate with all that a machine of Puppet has, as the server would after it has checked nothing."""
    key = serialization.load_pem_private_key((ssldir / f"private_keys/{name}.pem").read_bytes(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    request = request_of(name)
    der = x509.load_pem_x509_csr(request.encode()).public_bytes(serialization.Encoding.DER)
    proof = base64.b64encode(key.sign(der, padding.PKCS1v15(), hashes.SHA256())).decode()
    return await site.client.renew(request, (ssldir / f"certs/{name}.pem").read_text(), proof)


async def test_only_imported_certificates_of_a_puppet_ca_are_renewed(tmp_path: Path) -> None:
    puppet = PuppetAuthority(tmp_path / "ca")
    puppet.sign(tmp_path / "web", "web1.example.com", _1_13="web")
    puppet.revoke(puppet.sign(tmp_path / "stolen", "stolen.example.com"))
    data = tmp_path / "data"
    site_made = await initialise(ServerSettings(data=data), "ann", puppet.cadir)
    assert site_made.imported == 2
    puppet.sign(tmp_path / "late", "late.example.com")
    puppet.sign(tmp_path / "again", "web1.example.com", _1_13="database")
    async with serving(data) as site:
        # Puppet's CA has signed these two after the import, the second for a name that was imported.
        assert "cannot be renewed" in await refused(site, renew(site, tmp_path / "late", "late.example.com"))
        assert "cannot be renewed" in await refused(site, renew(site, tmp_path / "again", "web1.example.com"))
        # Revoked in Puppet before the import: the signer knows it without the server's list of revocations.
        assert "cannot be renewed" in await refused(site, renew(site, tmp_path / "stolen", "stolen.example.com"))
        issued = await renew(site, tmp_path / "web", "web1.example.com")
        assert (issued.record.node, issued.record.extensions) == ("web1.example.com", {"pp_role": "web"})


async def test_signer_without_the_list_of_imported_certificates_does_not_start(tmp_path: Path) -> None:
    """A list that is missing means a damaged copy of the directory, not that everything of Puppet's CA is to be renewed."""
    puppet = PuppetAuthority(tmp_path / "ca")
    puppet.sign(tmp_path / "web", "web1.example.com")
    await initialise(ServerSettings(data=tmp_path / "data"), "ann", puppet.cadir)
    (tmp_path / "data/authority/imported-nodes").unlink()
    with pytest.raises(UnavailableError) as caught:
        async with serving(tmp_path / "data"):
            pass
    assert caught.value.code == "CA-014"
    assert "imported-nodes is missing" in caught.value.message
