"""Catalogs with secrets on both databases: stored with references only, values sealed, and kept as long as a catalog is."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from lab.compile_services import CompileServices
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.catalog import body as bodies
from precast.catalog.secret_references import make_reference, references
from precast.services.catalogs.pruning import CatalogPruner, Retention
from precast.services.clocks.guard import ClockGuard
from precast.store.engine.compression import decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.schema.tables import TABLES
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.nodes.bodies import TargetsBody

EVERYONE = TargetsBody([], all=True)
COUNT = {table: Query(f"test.count_{table}", f"SELECT count(*) FROM {table}") for table in ("secret", "secret_use")}


def code(secret: str) -> dict[str, str]:
    return {
        "manifests/site.pp": f"""
            file {{ '/etc/token': content => Sensitive({secret}) }}
            file {{ '/etc/app': content => Sensitive("key of ${{facts['networking']['hostname']}}") }}
            notify {{ 'plain': message => {{ 'a' => ['b', Sensitive({secret})] }} }}
        """
    }


class Site(CompileServices):
    """Nodes with secrets in their catalogs."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        super().__init__(database)
        self.clock = clock
        stores = self.traces, self.catalogs, self.blobs, self.secrets
        self.pruning = CatalogPruner(database, *stores, ClockGuard(database, "boot"), Retention(releases=2))

    async def node(self, name: str) -> None:
        await self.introduce(name)
        await self.submit(name, {"networking": {"hostname": name}}, {})

    async def body(self, name: str) -> bodies.Body:
        staged = await self.staged(name)
        assert staged.skeleton is not None
        document = await self.catalogs.documents.read(staged.skeleton)
        assert document is not None
        return bodies.decode(document)

    async def refs(self, name: str) -> set[str]:
        return {ref for resource in (await self.body(name)).resources for ref in references(resource.parameters)}

    async def count(self, table: str) -> int:
        def counting() -> Transaction[int]:
            ((count,),) = yield COUNT[table]()
            return int(count)

        return await self.database.read(counting)

    async def dump(self, *, without: tuple[str, ...] = ()) -> bytes:
        """Everything that the database has, with compressed columns also as they were."""

        def reading() -> Transaction[list[Any]]:
            found: list[Any] = []
            for table in TABLES:
                if table.name not in without:
                    page = yield table.first_page(10_000)
                    found += [value for row in page for value in row]
            return found

        return b"\0".join(part for value in await self.database.read(reading) for part in _parts(value))


def _parts(value: Any) -> Iterator[bytes]:
    data = bytes(value) if isinstance(value, bytes | bytearray | memoryview) else str(value).encode()
    yield data
    if not isinstance(value, str | int | float | type(None)):
        try:
            yield decompress(data)
        except Exception:  # noqa: BLE001 - not every column of bytes is compressed
            return


@pytest.fixture
async def site(database: Database, clock: ManualClock) -> AsyncIterator[Site]:
    made = Site(database, clock)
    yield made
    await made.close()


async def test_stored_catalog_has_references_and_its_values_open(site: Site) -> None:
    await site.deploy(code("'hunter22-x'"))
    await site.node("web1")
    await site.settle()
    refs = await site.refs("web1")
    opened = {value.ref: value for value in await site.secret_values.open_values("production", sorted(refs))}
    assert opened.keys() == refs
    hole = {"__ptype": "Precast::Hole", "__pvalue": ["facts", "networking", "hostname"]}
    text = {"__ptype": "Precast::Text", "__pvalue": ["key of ", hole]}
    assert sorted((msgspec.json.decode(value.value) for value in opened.values()), key=repr) == ["hunter22-x", text]
    assert all(make_reference(value.salt, value.value) == value.ref for value in opened.values())
    assert b"hunter22" not in await site.dump(without=("blob_chunk",))


async def test_equal_secrets_share_a_catalog_and_a_changed_one_gives_another(site: Site) -> None:
    await site.deploy(code("'hunter22-x'"))
    await site.node("web1")
    await site.settle()
    before = await site.staged("web1")
    await site.deploy(code("join(['hunter22', 'x'], '-')"))
    await site.settle()
    assert (await site.staged("web1")).digest == before.digest
    await site.deploy(code("'hunter22-y'"))
    await site.settle()
    assert (await site.staged("web1")).digest != before.digest


async def test_compile_heals_a_damaged_value(site: Site) -> None:
    await site.deploy(code("'hunter22-x'"))
    await site.node("web1")
    await site.settle()
    refs = sorted(await site.refs("web1"))
    await site.database.write(
        lambda: _run(Query("test.damage", "UPDATE secret SET sealed = :sealed"), sealed=b"x" * 60)
    )
    with pytest.raises(PrecastError, match="does not open"):
        await site.secret_values.open_values("production", refs)
    await site.deploy(code("join(['hunter22', 'x'], '-')"))
    await site.settle()
    assert sorted(await site.refs("web1")) == refs
    assert len(await site.secret_values.open_values("production", refs)) == 2


def _run(query: Query, **values: Any) -> Transaction[None]:
    yield query(**values)


async def test_same_secret_has_another_reference_in_another_environment(site: Site) -> None:
    refs = [(await site.keyring.keys(name)).refer(b'"hunter22"') for name in ("production", "test")]
    assert len(set(refs)) == 2


async def test_values_stay_as_long_as_a_catalog_refers_to_them(site: Site, clock: ManualClock) -> None:
    await site.node("web1")
    refs = {}
    for secret in ("base", "one", "two", "three"):  # the first trace stays, because the others branch off it
        await site.deploy(code(f"'{secret}'"))
        await site.settle()
        refs[secret] = await site.refs("web1")
        await site.releases.release(ReleaseBody(EVERYONE), "person:a")
        clock.advance(40 * 86400)
    await site.pruning.prune()
    await site.pruning.prune()
    # Of the releases two are kept: the served one, and the one that a rollback needs.
    assert len(await site.secret_values.open_values("production", sorted(refs["one"]))) == 1  # the shared template
    await site.releases.rollback(RollbackBody(EVERYONE), "person:a")
    assert len(await site.secret_values.open_values("production", sorted(refs["two"]))) == 2
    assert await site.count("secret_use") == 6


async def test_value_without_catalog_is_deleted_after_the_grace(site: Site, clock: ManualClock) -> None:
    await site.node("web1")
    for secret in ("base", "one", "two"):
        await site.deploy(code(f"'{secret}'"))
        await site.settle()
    assert await site.count("secret") == 4
    clock.advance(3600)
    await site.pruning.prune()
    assert await site.count("secret") == 4
    clock.advance(40 * 86400)
    await site.submit("web1", {"networking": {"hostname": "web1"}, "x": 1}, {})
    await site.settle()
    await site.pruning.prune()
    assert await site.count("secret") == 3


async def test_forged_reference_is_an_error_of_the_code(site: Site) -> None:
    forged = f"{{ '__ptype' => 'Precast::Secret', '__pvalue' => '{'0' * 64}' }}"
    await site.deploy({"manifests/site.pp": f"notify {{ 'x': message => {forged} }}"})
    await site.node("web1")
    await site.settle()
    (failed,) = await site.database.read(site.catalogs.staged.list_failed, "", 10)
    chain = await site.database.read(site.traces.find_by_id, failed.chain)
    assert chain is not None
    leaf = msgspec.json.decode(chain.chain.leaf)
    assert (leaf["code"], "catalog" in leaf) == ("CATALOG-005", False)


PIN = "4811"
# The code computes the number, so that it is nowhere in the stored files; the data file has it, as a value of its own.
PIN_CODE = {
    "manifests/site.pp": """
        $pin = String(17 * 283)
        file { '/etc/pin': content => Sensitive($pin) }
        file { '/etc/number': content => Sensitive(17 * 283) }
        file { '/etc/data': content => Sensitive(lookup('pin')) }
        notify { 'x': message => { 'pin' => Sensitive($pin), 'list' => [Sensitive([$pin])] } }
    """,
    "hiera.yaml": "version: 5\nhierarchy:\n  - name: common\n    path: common.yaml\n",
    "data/common.yaml": f"pin: '{PIN}'\nother: 1\n",
}


async def test_short_secret_cannot_be_guessed_from_the_database(site: Site) -> None:
    """S10: whoever has the database, but not the key, cannot test candidates against anything in it."""
    await site.deploy(PIN_CODE)
    await site.node("web1")
    await site.settle()
    await site.releases.release(ReleaseBody(EVERYONE), "person:a")
    await site.deploy({**PIN_CODE, "data/common.yaml": "pin: '4812'\nother: 1\n"})
    await site.settle()
    dump = await site.dump()
    found = set(re.findall(rb"[0-9a-f]{32,}", dump))
    candidates = {digest.hex().encode(): pin for pin in range(10_000) for digest in _digests(pin)}
    assert candidates[hashlib.sha256(PIN.encode()).hexdigest().encode()] == int(PIN)
    assert {pin for digest, pin in candidates.items() if digest in found} == set()
    for digest in _digests(int(PIN)):
        assert digest not in dump
        assert base64.b64encode(digest).rstrip(b"=") not in dump
    assert f'"{PIN}"'.encode() not in await site.dump(without=("blob_chunk",))


def _digests(pin: int) -> Iterator[bytes]:
    text = f"{pin:04}"
    wrapped = {"__ptype": "Sensitive", "__pvalue": text}
    for value in (text, pin, [text], wrapped, {**wrapped, "__pvalue": pin}):
        for data in (json.dumps(value), json.dumps(value, separators=(",", ":"), sort_keys=True), str(value)):
            encoded = data.encode()
            yield hashlib.sha256(encoded).digest()
            yield hashlib.sha1(encoded, usedforsecurity=False).digest()
            yield hashlib.md5(encoded, usedforsecurity=False).digest()
            yield hmac.digest(b"", encoded, hashlib.sha256)
            yield hmac.digest(hmac.digest(b"", encoded, hashlib.sha256), encoded, hashlib.sha256)
