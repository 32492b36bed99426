"""Release pointers on both databases: signed for the node and its newest release, from a cache where nodes ask again, never going back."""

import base64
from collections.abc import AsyncIterator

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from lab.compile_services import CompileServices
from lab.document_signer import DocumentSigner
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.services.catalogs.release_pointer import MAX_AGE_S, ReleasePointers
from precast.store.catalogs.release_log import NewLogEntry
from precast.store.catalogs.released import Release
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import NodeCertificates
from precast.store.sessions.machines import Machine
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.catalogs.release_pointer import ReleasePointer, SignedRelease, signed_release_bytes
from precast.wire.nodes.bodies import TargetsBody


def decode(header: str) -> tuple[SignedRelease, ReleasePointer]:
    signed = msgspec.json.decode(base64.b64decode(header), type=SignedRelease)
    return signed, msgspec.json.decode(signed.release, type=ReleasePointer)


class Site(CompileServices):
    async def release(self, digest: str) -> Release:
        now = self.database.clock.now()

        def write() -> Transaction[None]:
            number = yield from self.catalogs.log.add(NewLogEntry("release", "person:ann", ""))
            release = Release("web1", 0, digest, digest, "[]", "production", "v1", now, "person:ann", number)
            yield from NodeCertificates(self.database).lock_or_create("web1")
            yield from self.catalogs.documents.store([(digest, b"{}")])
            yield from self.catalogs.released.release([release])

        await self.database.write(write)
        served = await self.database.read(self.catalogs.released.find_served, "web1")
        assert served is not None
        return served


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    yield made
    await made.close()


async def test_pointer_names_node_catalog_and_release_and_is_signed_by_the_authority(site: Site) -> None:
    signer = DocumentSigner()
    release = await site.release("a" * 64)
    signed, pointer = decode(await ReleasePointers(signer, site.database.clock).header(release))
    assert (pointer.node, pointer.digest, pointer.release) == ("web1", "a" * 64, 1)
    assert (pointer.environment, pointer.version) == ("production", "v1")
    key = signer.authority.certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(base64.b64decode(signed.signature), signed_release_bytes(signed.release), ec.ECDSA(hashes.SHA256()))


async def test_sequence_grows_with_every_release_also_if_the_clock_is_set_back_or_the_node_was_deleted(
    site: Site, clock: ManualClock
) -> None:
    pointers, sequences = ReleasePointers(DocumentSigner(), site.database.clock), []
    for back_s, forward_s in ((0, 0), (3600, 0), (0, 0), (0, 7200)):
        clock.set_back(back_s)
        clock.advance(forward_s)
        sequences.append(decode(await pointers.header(await site.release("a" * 64)))[1].sequence)
    assert sequences == sorted(set(sequences))


async def test_pointer_is_signed_once_while_nodes_ask_again(site: Site, clock: ManualClock) -> None:
    signer = DocumentSigner()
    pointers, release = ReleasePointers(signer, clock), await site.release("a" * 64)
    first = await pointers.header(release)
    assert [await pointers.header(release) for _ in range(10)] == [first] * 10
    assert signer.count == 1
    clock.advance(MAX_AGE_S)
    await pointers.header(release)
    await pointers.header(await site.release("b" * 64))
    assert signer.count == 3


async def test_node_on_hold_gets_no_other_catalog_until_an_operator_has_chosen(site: Site) -> None:
    sessions = Sessions(site.database)
    await site.deploy({"manifests/site.pp": "notify { 'one': }\n"})
    await site.introduce("web1")
    await site.submit("web1", {}, {})
    await site.settle()
    await site.releases.release(ReleaseBody(TargetsBody(["web1"])), "person:ann")
    digest = (await site.downloads.fetch("web1", "")).release.digest
    await site.database.write(sessions.lock, "web1")
    await site.database.write(sessions.hold, "web1", 1)
    # What a machine has stays confirmed.
    assert (await site.downloads.fetch("web1", digest)).body is None
    with pytest.raises(ConflictError, match="web1 is on hold"):
        await site.downloads.fetch("web1", "")
    machine = Machine(
        "m", "i", ["a"], "", "b", "192.0.2.1", "1", 0, site.database.clock.now(), site.database.clock.now()
    )
    await site.database.write(sessions.choose, "web1", machine)
    assert (await site.downloads.fetch("web1", "")).body is not None


async def test_rollback_by_the_operator_is_a_release_with_a_higher_sequence(site: Site) -> None:
    for text in ("one", "two"):
        await site.deploy({"manifests/site.pp": f"notify {{ '{text}': }}\n"})
        if text == "one":
            await site.introduce("web1")
            await site.submit("web1", {}, {})
        await site.settle()
        await site.releases.release(ReleaseBody(TargetsBody(["web1"])), "person:ann")
    before = decode((await site.downloads.fetch("web1", "")).pointer)[1]
    await site.releases.rollback(RollbackBody(TargetsBody(["web1"]), ""), "person:ann")
    after = decode((await site.downloads.fetch("web1", "")).pointer)[1]
    assert after.sequence > before.sequence
    assert after.digest != before.digest
