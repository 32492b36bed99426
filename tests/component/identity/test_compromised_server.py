"""A server that an attacker has taken over cannot mint: with its database and its socket, each attempt is refused and logged."""

import base64
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from precast.base.errors import PrecastError
from precast.services.identity import extensions
from precast.services.identity.authority import Authority
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.connection import SocketConnection
from precast.services.identity.signer.messages import Credential, PolicyRecord, Revocation
from precast.services.identity.signer.signer_log import verify
from tests.component.identity.signer_socket import SocketSite, enrolment_record, serving


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def request_of(name: str, key: ec.EllipticCurvePrivateKey | None = None) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key or new_key(), hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


async def refused(site: SocketSite, attempt: Awaitable[object]) -> str:
    """The error of an attempt, which the signer has logged."""
    before = len(site.log())
    with pytest.raises(PrecastError) as caught:
        await attempt
    line = site.log()[-1]
    assert (len(site.log()), line.outcome) == (before + 1, "refused")
    assert caught.value.code in line.reason
    return caught.value.message


async def test_certificate_for_a_name_that_no_token_allows_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        token, record, seal = await site.enrolment("web*")
        changed = msgspec.structs.replace(record, pattern="*")
        message = await refused(site, site.client.enrol(request_of("db1"), token, record, seal))
        assert "does not enrol db1" in message
        # The database belongs to the attacker, the seal does not.
        assert "not sealed" in await refused(site, site.client.enrol(request_of("db1"), token, changed, seal))
        text, unsealed = enrolment_record(site, "*", 1, {})
        assert "not sealed" in await refused(site, site.client.enrol(request_of("db1"), text, unsealed, bytes(32)))
        issued = await site.client.enrol(request_of("web1"), token, record, seal)
        assert issued.record.node == "web1"


async def test_extensions_that_the_token_does_not_have_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        token, record, seal = await site.enrolment("web1", pp_role="web")
        more = msgspec.structs.replace(record, extensions={"pp_role": "database"})
        assert "not sealed" in await refused(site, site.client.enrol(request_of("web1"), token, more, seal))
        issued = await site.client.enrol(request_of("web1"), token, record, seal)
        assert extensions.from_x509(x509.load_pem_x509_certificate(issued.pem.encode())) == {"pp_role": "web"}


async def test_token_without_its_secret_or_used_up_or_expired_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        token, record, seal = await site.enrolment("*", uses=2)
        guessed, _ = enrolment_record(site, "*", 1, {})
        head, _, tail, fingerprint = token.split(".")
        wrong = f"{head}.{record.id}.{guessed.split('.')[2]}.{fingerprint}"
        assert tail not in wrong
        await refused(site, site.client.enrol(request_of("web1"), wrong, record, seal))
        key = new_key()
        for _ in range(3):  # the same key asks again
            await site.client.enrol(request_of("web1", key), token, record, seal)
        await site.client.enrol(request_of("web2"), token, record, seal)
        # The server's database says that uses are left; the signer counts for itself.
        await refused(site, site.client.enrol(request_of("web3"), token, record, seal))
        later = msgspec.structs.replace(record, expires_at=record.expires_at + timedelta(days=9), uses=99)
        await refused(site, site.client.enrol(request_of("web3"), token, later, seal))


async def test_revoked_token_is_refused_whatever_the_database_says(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        token, record, seal = await site.enrolment("*", uses=9)
        await site.client.revoke_token(record.id)
        await refused(site, site.client.enrol(request_of("web1"), token, record, seal))
        operator = await site.person("operator")
        await site.client.revoke_token(operator.record.id)
        assert "revoked" in await refused(site, site.client.approve(request_of("web1"), {}, operator))


async def test_rights_of_people_cannot_be_invented(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        viewer, operator = await site.person("viewer"), await site.person("operator")
        limited = await site.person("admin", ["production"])
        risen = Credential(viewer.token, msgspec.structs.replace(viewer.record, role="admin"), viewer.seal)
        stolen = Credential(viewer.token, operator.record, operator.seal)
        attempts = {
            "nobody approved it": None,
            "is not operator": viewer,
            "not sealed": risen,
            "not the one of its record": stolen,
            "of the whole site": limited,
        }
        for reason, credential in attempts.items():
            assert reason in await refused(site, site.client.approve(request_of("web1"), {}, credential))
        _, record = enrolment_record(site, "*", 1, {})
        assert "nobody" in await refused(site, site.client.seal_enrolment(record, None))
        assert "is not admin" in await refused(site, site.client.seal_person(operator.record, operator))
        assert "nobody" in await refused(site, site.client.seal_person(operator.record, None))
        assert "is not admin" in await refused(site, site.client.rotate("prepare", "1", operator))
        issued = await site.client.approve(request_of("web1"), {"pp_role": "web"}, operator)
        assert issued.record.extensions == {"pp_role": "web"}
        assert site.log()[-1].by == "person:a operator"


async def test_policy_that_nobody_set_is_not_signed(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        operator = await site.person("operator")
        sealed = await site.client.seal_policies(["web1"], "never", [], 0, operator)
        record = PolicyRecord("web1", sealed.serial, "never", [])
        assert (await site.client.sign_policy(record, sealed.seals[0])).policy
        for forged in (
            msgspec.structs.replace(record, enforce="always"),
            msgspec.structs.replace(record, node="db1"),
            msgspec.structs.replace(record, serial=record.serial + 1),
        ):
            assert "not sealed" in await refused(site, site.client.sign_policy(forged, sealed.seals[0]))
        assert "nobody" in await refused(site, site.client.seal_policies(["web1"], "always", [], 0, None))


async def test_server_certificate_for_another_host_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, ("localhost", "precast.example.com")) as site:
        key = new_key().public_key()
        assert "bank.example.com" in await refused(
            site, site.client.certify_server(key, ["localhost", "bank.example.com"])
        )
        await refused(site, site.client.certify_server(key, []))
        certificate = await site.client.certify_server(key, ["precast.example.com"])
        assert certificate.public_key() == key


async def test_renewal_needs_the_old_key_and_keeps_name_and_extensions(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        token, record, seal = await site.enrolment("web1", pp_role="web")
        key, new = new_key(), new_key()
        issued = await site.client.enrol(request_of("web1", key), token, record, seal)

        def proof(request: str, by: ec.EllipticCurvePrivateKey) -> str:
            der = x509.load_pem_x509_csr(request.encode()).public_bytes(serialization.Encoding.DER)
            return base64.b64encode(by.sign(der, ec.ECDSA(hashes.SHA256()))).decode()

        same, other = request_of("web1", new), request_of("db1", new)
        await refused(site, site.client.renew(same, issued.pem, proof(same, new)))
        await refused(site, site.client.renew(other, issued.pem, proof(other, key)))
        # An authority with the same name, and the authority's own certificate.
        sibling = Authority.new(site.clock.now(), site.client.current.certificate.subject)
        foreign = sibling.sign_node(x509.load_pem_x509_csr(request_of("web1", key).encode()), site.clock.now(), {})
        pem = foreign.public_bytes(serialization.Encoding.PEM).decode()
        await refused(site, site.client.renew(same, pem, proof(same, key)))
        await refused(site, site.client.renew(same, site.client.current.pem, proof(same, key)))
        renewed = await site.client.renew(same, issued.pem, proof(same, key))
        assert (renewed.record.node, renewed.record.extensions) == ("web1", {"pp_role": "web"})
        revoked = Revocation(issued.record.serial, issued.record.authority, site.clock.now(), issued.record.not_after)
        await site.client.sign_crl([revoked], is_last=True)
        await refused(site, site.client.renew(same, issued.pem, proof(same, key)))


async def test_limits_bound_what_a_stolen_socket_can_ask_for(tmp_path: Path) -> None:
    async with serving(tmp_path, per_minute={"enrol": 3}) as site:
        token, record, seal = await site.enrolment("*", uses=100)
        for number in range(3):
            await site.client.enrol(request_of(f"web{number}"), token, record, seal)
        assert "limit for enrol" in await refused(site, site.client.enrol(request_of("web9"), token, record, seal))


async def test_log_is_a_chain_that_shows_every_change(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        token, record, seal = await site.enrolment("*", uses=5)
        for number in range(5):
            await site.client.enrol(request_of(f"web{number}"), token, record, seal)
        path = tmp_path / "signer" / "log.jsonl"
        assert verify(path).lines == len(site.log())
        lines = path.read_bytes().splitlines(keepends=True)
        assert token.split(".")[2].encode() not in b"".join(lines)
        for broken in (
            [*lines[:2], *lines[3:]],
            [*lines[:2], lines[2].replace(b"web", b"bad"), *lines[3:]],
            [lines[1], lines[0], *lines[2:]],
        ):
            path.write_bytes(b"".join(broken))
            with pytest.raises(PrecastError, match="broken"):
                verify(path)
        assert (path.stat().st_mode & 0o777) == 0o600


async def test_certificate_of_a_server_does_not_become_a_nodes(tmp_path: Path) -> None:
    """A server has the key of its own certificate; the machine of that name is a node that it must not be able to play."""
    async with serving(tmp_path, ("precast.example.com",)) as site:
        key = new_key()
        own = await site.client.certify_server(key.public_key(), ["precast.example.com"])
        request = request_of("precast.example.com", new_key())
        der = x509.load_pem_x509_csr(request.encode()).public_bytes(serialization.Encoding.DER)
        proof = base64.b64encode(key.sign(der, ec.ECDSA(hashes.SHA256()))).decode()
        pem = own.public_bytes(serialization.Encoding.PEM).decode()
        await refused(site, site.client.renew(request, pem, proof))


async def test_long_texts_break_neither_the_chain_of_the_log_nor_fill_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        admin, long = await site.person("admin"), "x" * 200_000
        record = msgspec.structs.replace(admin.record, role=long)
        await refused(site, site.client.seal_person(record, None))
        _, token = enrolment_record(site, "*", 1, {})
        named = msgspec.structs.replace(token, id=long)
        await refused(site, site.client.seal_enrolment(named, None))
        await refused(site, site.client.enrol(request_of("web1"), long, named, bytes(32)))
        with pytest.raises(PrecastError):
            await site.client.rotate("prepare", long, admin, is_continued=True)
        path = tmp_path / "signer" / "log.jsonl"
        assert verify(path).lines == len(site.log())
        assert max(map(len, path.read_bytes().splitlines())) < 8_000
        assert (tmp_path / "signer").joinpath("rotation.json").exists() is False


@pytest.mark.parametrize(
    "revocation",
    [
        Revocation("1", "a" * 64, datetime(1, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC)),
        Revocation("1", "a" * 64, datetime(2026, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)),
        Revocation("1", "a" * 200_000, datetime(2026, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC)),
    ],
    ids=["ancient", "endless", "long"],
)
async def test_revocation_that_cannot_be_signed_is_not_stored(tmp_path: Path, revocation: Revocation) -> None:
    """It would be in the file for ever, and no list could be signed any more."""
    async with serving(tmp_path) as site:
        authority = site.client.current.fingerprint
        if len(revocation.authority) == len(authority):
            revocation = msgspec.structs.replace(revocation, authority=authority)
        await refused(site, site.client.sign_crl([revocation], is_last=True))
        # A time without a zone is not even a message of this protocol.
        impatient, there = SignerClient(SocketConnection(site.path, 0.1)), datetime(2026, 1, 1)  # noqa: DTZ001
        with pytest.raises(PrecastError):
            await impatient.sign_crl([Revocation("4", authority, there, there)], is_last=True)
        await impatient.close()
        now = site.clock.now()
        for serial in ("2", "3"):
            honest = Revocation(serial, authority, now, now + timedelta(days=30))
            crl = x509.load_der_x509_crl((await site.client.sign_crl([honest], is_last=True)).der)
        assert sorted(row.serial_number for row in crl) == [2, 3]


async def test_revocation_with_an_early_end_does_not_hide_the_real_one(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        now, authority = site.clock.now(), site.client.current.fingerprint
        early = Revocation("7", authority, now, now - timedelta(days=400))
        await site.client.sign_crl([early], is_last=True)
        await site.client.sign_crl([Revocation("7", authority, now, now + timedelta(days=30))], is_last=True)
        await site.client.sign_crl([Revocation("8", authority, now, now + timedelta(days=30))], is_last=True)
        crl = x509.load_der_x509_crl((await site.client.sign_crl([], is_last=True)).der)
        assert sorted(row.serial_number for row in crl) == [7, 8]
