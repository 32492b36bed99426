"""Secrets of sources on both databases: asked once, kept through outages, and a change concerns only the nodes that read it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from lab.compile_services import CompileServices
from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.encryption.sealing import seal
from precast.services.secrets.sources import issues
from precast.services.secrets.sources.configuration import SourceSettings
from precast.services.secrets.sources.documents import TOPIC
from precast.services.secrets.sources.source import Document
from precast.services.work_kinds import ASK_SECRET, DECIDE, SPREAD_SECRET
from precast.store.engine.compression import decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.queue.queue import find_dead_letter
from precast.store.schema.tables import TABLES
from precast.store.secrets.source_documents import DocumentKey, delete_node_reads

HIERA = """\
version: 5
hierarchy:
  - {name: secrets, lookup_key: precast::secrets, paths: ["nodes/%{trusted.certname}", common], options: {source: vault}}
"""
CODE = {
    "hiera.yaml": HIERA,
    "manifests/site.pp": """
        file { '/etc/token': content => lookup('token') }
        if $facts['db'] { file { '/etc/db': content => precast::secret('vault', 'db', 'password') } }
    """,
}
SETTINGS = SourceSettings("file", {"production": ["/"]}, ttl="1h", directory="/nowhere")


class Source:
    """A source whose documents and failures a test defines."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.down = ""
        self.asked: list[str] = []
        self.lease_s: float | None = None

    async def read(self, environment: str, path: str) -> Document | None:
        assert environment == "production"
        self.asked.append(path)
        if self.down:
            raise issues.SOURCE_FAILED.error(source="vault", reason=self.down)
        fields = self.documents.get(path)
        return None if fields is None else Document(dict(fields), self.lease_s)

    async def maintain(self) -> None:
        """Nothing."""


class Site(CompileServices):
    """Nodes whose code reads secrets. The source is asked while compiles and walks wait for it."""

    def __init__(self, database: Database, source: Source, settings: SourceSettings = SETTINGS) -> None:
        super().__init__(database, sources={"vault": (settings, source)})
        self.source = source
        self._turn = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._ask_for_ever())
        try:
            yield
        finally:
            async with self._turn:
                task.cancel()

    async def _ask_for_ever(self) -> None:
        with self.database.wakeups.subscribe(TOPIC, f"work.{ASK_SECRET.name}") as sleeper:
            while True:
                if not await self.ask():
                    await sleeper.wait()

    async def ask(self) -> int:
        async with self._turn:
            return await self.asker.work_off("a") + await self.asker.spread("a")

    async def settle(self) -> int:
        compiles = 0
        async with self.asking():
            while True:
                compiles += (settled := await super().settle())
                if not await self.ask() and not settled and not await self._has_decisions():
                    return compiles

    async def _has_decisions(self) -> bool:
        counts = {count.kind: count.waiting for count in await self.work.count_by_kind()}
        due = await self.work.list_waiting((DECIDE.name, ""), 100)
        now = self.database.clock.now()
        return bool(counts.get(SPREAD_SECRET.name)) or any(
            item.kind == DECIDE.name and item.ready_at <= now for item in due
        )

    async def node(self, name: str, *, db: bool = False) -> None:
        await self.introduce(name)
        await self.submit(name, {"db": db}, {})

    async def values(self, name: str) -> list[Any]:
        """The secrets that the staged catalog of a node refers to."""
        staged = await self.staged(name)
        assert staged.skeleton is not None
        body = await self.catalogs.documents.read(staged.skeleton)
        assert body is not None
        text = body.decode()
        refs = [ref for ref in await self._refs() if ref in text]
        opened = await self.secret_values.open_values("production", refs)
        return sorted(value.value.decode() for value in opened)

    async def _refs(self) -> list[str]:
        table = next(table for table in TABLES if table.name == "secret")

        def reading() -> Transaction[list[str]]:
            rows = yield table.first_page(1_000)
            return [row[1] for row in rows]

        return await self.database.read(reading)

    async def error(self, name: str) -> str:
        return str(await self.database.read(_error_of, self, name))

    async def policy(self) -> int:
        return (await self.database.read(self.documents.find_policy, "production")).revision

    async def dump(self) -> bytes:
        def reading() -> Transaction[list[Any]]:
            found: list[Any] = []
            for table in TABLES:
                found += [value for row in (yield table.first_page(10_000)) for value in row]
            return found

        return b"\0".join(_bytes(value) for value in await self.database.read(reading))


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        return str(value).encode()
    with contextlib.suppress(Exception):
        return bytes(value) + decompress(bytes(value))
    return bytes(value)


def _error_of(site: Site, name: str) -> Transaction[str]:
    branch = yield from site.traces.find_branch(name)
    for kind, key in (("decide", name), ("compile", branch or "")):
        dead = yield from find_dead_letter(kind, key)
        if dead is not None:
            return dead.last_error
    return ""


@pytest.fixture
def source() -> Source:
    made = Source()
    made.documents = {"common": {"token": "hunter2-common"}, "db": {"password": "hunter2-db"}}
    return made


@pytest.fixture
async def site(database: Database, source: Source) -> AsyncIterator[Site]:
    made = Site(database, source)
    yield made
    await made.close()


async def test_catalog_has_the_secret_and_the_database_never_its_text(site: Site, source: Source) -> None:
    await site.deploy(CODE)
    await site.node("web1", db=True)
    await site.settle()
    assert await site.values("web1") == ['"hunter2-common"', '"hunter2-db"']
    assert sorted(set(source.asked)) == ["common", "db", "nodes/web1"]
    assert b"hunter2" not in await site.dump()
    assert digests.of_bytes(b'"hunter2-common"').encode() not in await site.dump()


async def test_many_nodes_share_a_compile_and_each_document_is_asked_for_once(site: Site, source: Source) -> None:
    await site.deploy(CODE)
    for number in range(5):
        await site.node(f"web{number}")
    assert await site.settle() == 1
    assert source.asked.count("common") == 1
    source.documents["nodes/web9"] = {"token": "hunter2-own"}
    await site.node("web9")
    assert await site.settle() == 1
    assert await site.values("web9") == ['"hunter2-own"']


async def test_changed_value_reaches_those_who_read_it_and_nobody_else(
    site: Site, source: Source, clock: ManualClock
) -> None:
    await site.deploy(CODE)
    await site.node("web1")
    await site.node("db1", db=True)
    await site.settle()
    before = {name: await site.staged(name) for name in ("web1", "db1")}
    source.documents["db"] = {"password": "hunter2-new"}
    clock.advance(3_601)
    assert await site.settle() == 1
    assert await site.values("db1") == ['"hunter2-common"', '"hunter2-new"']
    assert (await site.staged("web1")).decided_at == before["web1"].decided_at
    assert (await site.staged("db1")).digest != before["db1"].digest


async def test_unchanged_value_decides_nothing(site: Site, source: Source, clock: ManualClock) -> None:
    await site.deploy(CODE)
    await site.node("db1", db=True)
    await site.settle()
    before, asked, revision = await site.staged("db1"), len(source.asked), await site.policy()
    clock.advance(3_601)
    assert await site.settle() == 0
    assert len(source.asked) == asked + 3
    assert (await site.staged("db1")).decided_at == before.decided_at
    assert await site.policy() == revision


async def test_lease_of_the_source_shortens_the_time(site: Site, source: Source, clock: ManualClock) -> None:
    source.lease_s = 60.0
    await site.deploy(CODE)
    await site.node("web1")
    await site.settle()
    asked = source.asked.count("common")
    clock.advance(61)
    await site.settle()
    assert source.asked.count("common") == asked + 1


async def test_outage_fails_no_compile_that_has_a_value(site: Site, source: Source, clock: ManualClock) -> None:
    await site.deploy(CODE)
    await site.node("web1")
    await site.settle()
    source.down = "it is sealed"
    clock.advance(3_601)
    await site.deploy({**CODE, "manifests/site.pp": "file { '/etc/other': content => lookup('token') }"})
    assert await site.settle() == 1
    assert await site.values("web1") == ['"hunter2-common"']
    (summary,) = await site.database.read(site.documents.summarise)
    assert (summary.documents, summary.known, summary.failed) == (2, 2, 2)
    assert "sealed" in (summary.problem or "")


async def test_secret_that_never_was_waits_with_a_reason_and_comes_by_itself(
    site: Site, source: Source, clock: ManualClock
) -> None:
    source.down = "it is sealed"
    await site.deploy(CODE)
    await site.node("web1")
    for _ in range(12):  # until the attempts of compile and decision are used up
        await site.settle()
        clock.advance(400)
    assert "it is sealed" in await site.error("web1")
    assert "[SECRET-022]" in await site.error("web1")
    source.down = ""
    for _ in range(4):
        clock.advance(400)
        await site.settle()
    assert await site.values("web1") == ['"hunter2-common"']
    assert await site.error("web1") == ""


async def test_failed_walk_of_one_node_fails_no_other(site: Site, source: Source) -> None:
    await site.deploy(CODE)
    await site.node("web1")
    await site.settle()
    source.down = "it is sealed"
    await site.node("web2")
    await site.settle()
    assert await site.values("web1") == ['"hunter2-common"']
    with pytest.raises(KeyError):
        await site.staged("web2")


async def test_deploy_asks_again(site: Site, source: Source) -> None:
    await site.deploy(CODE)
    await site.node("web1")
    await site.settle()
    source.documents["common"] = {"token": "hunter2-new"}
    await site.deploy({**CODE, "unread": "x"})
    assert await site.settle() == 1
    assert await site.values("web1") == ['"hunter2-new"']


async def test_two_servers_ask_once(database: Database, other_database: Database, source: Source) -> None:
    first, second = Site(database, source), Site(other_database, source)
    try:
        await first.deploy(CODE)
        for number in range(4):
            await first.node(f"web{number}")
        async with first.asking(), second.asking():
            await asyncio.gather(*(site.decisions.spread("d") for site in (first, second)))
            await asyncio.gather(first.settle(), second.settle())
        assert source.asked.count("common") == 1
    finally:
        await first.close()
        await second.close()


async def test_other_server_uses_no_answer_that_has_changed(
    database: Database, other_database: Database, source: Source, clock: ManualClock
) -> None:
    first, second = Site(database, source), Site(other_database, source)
    try:
        await first.deploy(CODE)
        await first.node("web1")
        await first.settle()
        await second.node("web2")
        await second.settle()
        source.documents["common"] = {"token": "hunter2-new"}
        clock.advance(3_601)
        await first.settle()
        await second.node("web3")
        await second.settle()
        for site, name in ((first, "web1"), (second, "web2"), (second, "web3")):
            assert await site.values(name) == ['"hunter2-new"']
    finally:
        await first.close()
        await second.close()


async def test_environment_reads_only_what_the_server_allows(database: Database, source: Source) -> None:
    settings = SourceSettings("file", {"production": ["common"], "test": ["/"]}, directory="/nowhere")
    site = Site(database, source, settings)
    try:
        await site.deploy({"manifests/site.pp": "notice(precast::secret('vault', 'db', 'password'))"})
        await site.node("web1")
        await site.settle()
        staged = await site.staged("web1")
        assert staged.skeleton is None
        assert source.asked == []
        key = DocumentKey("production", "vault", "common/../db")
        assert not site.trace_cache._documents.allows(*key)  # type: ignore[union-attr]
    finally:
        await site.close()


async def test_server_that_may_not_ask_leaves_the_document_and_its_value_to_others(
    database: Database, other_database: Database, source: Source, clock: ManualClock
) -> None:
    elsewhere = SourceSettings("file", {"test": ["/"]}, directory="/nowhere")
    first, second = Site(database, source), Site(other_database, source, elsewhere)
    try:
        await first.deploy(CODE)
        await first.node("web1")
        await first.settle()
        source.documents["common"] = {"token": "hunter2-new"}
        clock.advance(3_601)
        assert await second.ask()
        assert await first.values("web1") == ['"hunter2-common"']
        assert (await first.database.read(first.documents.summarise))[0].known == 2
        clock.advance(31)
        await first.settle()
        assert await first.values("web1") == ['"hunter2-new"']
    finally:
        await first.close()
        await second.close()


async def test_document_that_no_node_reads_is_asked_for_no_more(site: Site, source: Source, clock: ManualClock) -> None:
    await site.deploy(CODE)
    await site.node("db1", db=True)
    await site.settle()
    await site.submit("db1", {"db": False}, {})
    clock.advance(1)
    await site.settle()
    asked = source.asked.count("db")
    clock.advance(3_601)
    await site.settle()
    assert source.asked.count("db") == asked
    source.documents["db"] = {"password": "hunter2-new"}
    await site.submit("db1", {"db": True}, {})
    clock.advance(1)
    await site.settle()
    assert await site.values("db1") == ['"hunter2-common"', '"hunter2-new"']
    await site.submit("db1", {"db": False}, {})
    clock.advance(1)
    await site.settle()
    for _ in range(3):
        clock.advance(50_000)
        await site.settle()
    (found,) = await site.database.read(site.documents.summarise)
    assert found.documents == 2


async def test_value_sealed_with_other_keys_is_asked_for_again(site: Site, source: Source) -> None:
    await site.deploy(CODE)
    await site.node("web1")
    await site.settle()
    key = DocumentKey("production", "vault", "common")
    document = await site.database.read(site.documents.find, digests.of_value(key))
    assert document is not None
    other = seal(bytes(32), b"{}", b"elsewhere")

    def spoil() -> Transaction[None]:
        yield from site.documents.store(document, other, {**(document.answers or {}), "": "x"}, document.due_at)

    await site.database.write(spoil)
    asked = source.asked.count("common")
    await site.deploy({**CODE, "manifests/site.pp": "file { '/etc/other': content => lookup('token') }"})
    await site.settle()
    assert source.asked.count("common") > asked
    assert await site.values("web1") == ['"hunter2-common"']


async def test_purged_node_reads_nothing(site: Site) -> None:
    await site.deploy(CODE)
    await site.node("web1")
    await site.settle()
    document = digests.of_value(DocumentKey("production", "vault", "common"))
    assert await site.database.read(site.documents.list_readers, document, "", 10) == ["web1"]
    await site.database.write(delete_node_reads, "web1")
    assert await site.database.read(site.documents.list_readers, document, "", 10) == []


def test_answers_tell_apart_what_code_can_see() -> None:
    from precast.services.secrets.keys import EnvironmentKeys
    from precast.services.secrets.sources.documents import make_answers

    keys = EnvironmentKeys.derived("production", bytes(32))

    def answers(fields: Mapping[str, Any]) -> str:
        return make_answers(keys, fields)[""]

    assert answers({"a": 1, "b": 2}) != answers({"b": 2, "a": 1})
    assert answers({"a": 1}) != answers({"a": 1.0}) != answers({"a": "1"})
