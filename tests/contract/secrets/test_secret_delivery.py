"""Which values a node gets: those of the catalog that it is served, or of an entry point at work on it, and no others; on both."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from lab.compile_services import CompileServices, KeyInMemory
from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, NotFoundError
from precast.base.ids import TimeOrderedIds
from precast.catalog import body as bodies
from precast.catalog.secret_values import fill_secrets, find_references, is_value_of
from precast.services.secrets.rotation import KeyRotation
from precast.store.catalogs.entry_holds import EntryPin
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import AttemptKey, Attempts, Ending, NewAttempt
from precast.store.jobs.jobs import Jobs, NewJobRow
from precast.store.secrets.keys import SecretKeys
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.jobs import states
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.secrets import delivery
from precast.wire.secrets.delivery import SecretsBody

EVERYONE = TargetsBody([], all=True)
ENTRY = "plans/web/first.pp"


def code(secret: str) -> dict[str, str]:
    return {
        "manifests/site.pp": f"""
            file {{ '/etc/token': content => Sensitive('{secret}') }}
            file {{ '/etc/app': content => Sensitive("{secret} of ${{facts['networking']['hostname']}}") }}
            if $facts['special'] {{ file {{ '/etc/only': content => Sensitive('only of other') }} }}
        """,
        ENTRY: f"file {{ '/etc/entry': content => Sensitive('{secret} of the entry') }}\n",
    }


class Site(CompileServices):
    """Nodes with secrets in their served catalogs."""

    def __init__(self, database: Database, clock: ManualClock, master: KeyInMemory | None = None) -> None:
        super().__init__(database, master=master)
        self.clock = clock
        self.jobs, self.attempts = Jobs(database), Attempts(database)

    async def node(self, name: str) -> None:
        await self.introduce(name)
        await self.submit(name, {"networking": {"hostname": name}, "special": name == "other"}, {})

    async def release(self, secret: str) -> None:
        await self.deploy(code(secret))
        await self.settle()
        await self.releases.release(ReleaseBody(EVERYONE), "person:ann")

    async def served(self, node: str) -> tuple[str, bodies.Body]:
        download = await self.downloads.fetch(node, "")
        assert download.body is not None
        assert digests.of_bytes(download.body) == download.release.digest
        return download.release.digest, bodies.decode(download.body)

    async def values(self, node: str, asked: SecretsBody) -> dict[str, bytes]:
        given = (await self.downloads.open_secrets(node, asked)).values
        assert all(is_value_of(value.ref, value.salt, value.value) for value in given)
        return {value.ref: value.value for value in given}

    async def filled(self, node: str) -> dict[str, Any]:
        """The contents that a node would write."""
        digest, body = await self.served(node)
        refs = sorted(find_references(body))
        filled = fill_secrets(body, await self.values(node, SecretsBody(digest, refs)))
        return {resource.title: resource.parameters.get("content") for resource in filled.resources}


@pytest.fixture
async def site(database: Database, clock: ManualClock) -> AsyncIterator[Site]:
    made = Site(database, clock)
    yield made
    await made.close()


def sensitive(value: str) -> Any:
    return {"__ptype": "Sensitive", "__pvalue": value}


def is_open(content: Any, value: str) -> bool:
    return content in (value, sensitive(value))


async def ask(site: Site, node: str, catalog: str, refs: list[str], entry: str = "") -> dict[str, bytes]:
    return await site.values(node, SecretsBody(catalog, refs, entry))


async def refused(site: Site, node: str, catalog: str, refs: list[str], entry: str = "") -> tuple[str, str]:
    with pytest.raises((NotFoundError, ConflictError)) as raised:
        await ask(site, node, catalog, refs, entry)
    return raised.value.code, raised.value.message


async def test_node_gets_the_values_of_its_catalog_and_fills_its_own_facts_in(site: Site) -> None:
    for name in ("web1", "web2"):
        await site.node(name)
    await site.release("hunter22")
    served = [await site.catalogs.released.read_served(name) for name in ("web1", "web2")]
    assert len({release.skeleton for release in served if release is not None}) == 1
    assert len({release.digest for release in served if release is not None}) == 2
    for name in ("web1", "web2"):
        contents = await site.filled(name)
        assert is_open(contents["/etc/token"], "hunter22")
        assert is_open(contents["/etc/app"], f"hunter22 of {name}")


async def test_secret_of_another_node_and_one_that_does_not_exist_look_alike(site: Site) -> None:
    for name in ("web1", "other"):
        await site.node(name)
    await site.release("hunter22")
    digest, body = await site.served("web1")
    _, foreign = await site.served("other")
    (only,) = find_references(foreign) - find_references(body)
    absent = await refused(site, "web1", digest, ["0" * 64])
    assert absent[0] == "RELEASE-008"
    assert await refused(site, "web1", digest, [only]) == absent
    # One of another catalog among own ones opens nothing.
    assert await refused(site, "web1", digest, [*find_references(body), only]) == absent


async def test_only_the_served_catalog_opens_values(site: Site) -> None:
    await site.node("web1")
    await site.release("first")
    before, body = await site.served("web1")
    refs = sorted(find_references(body))
    await site.deploy(code("second"))
    await site.settle()
    staged = (await site.staged("web1")).digest
    assert staged is not None
    # A staged catalog is never served, and neither are its secrets.
    assert (await refused(site, "web1", staged, refs))[0] == "RELEASE-007"
    await site.releases.release(ReleaseBody(EVERYONE), "person:ann")
    gone = await refused(site, "web1", before, refs)
    assert gone[0] == "RELEASE-007"
    assert (await refused(site, "web1", "0" * 64, refs))[0] == "RELEASE-007"
    after, _ = await site.served("web1")
    assert (await refused(site, "web1", after, refs))[0] == "RELEASE-008"
    # A rollback serves the earlier catalog with its secrets again.
    await site.releases.rollback(RollbackBody(EVERYONE, ""), "person:ann")
    assert is_open((await site.filled("web1"))["/etc/token"], "first")


async def test_node_without_a_release_gets_nothing(site: Site) -> None:
    await site.node("web1")
    await site.deploy(code("hunter22"))
    await site.settle()
    assert (await refused(site, "web1", "0" * 64, ["0" * 64]))[0] == "RELEASE-007"
    assert (await refused(site, "nobody", "0" * 64, ["0" * 64]))[0] == "RELEASE-007"


async def test_node_on_hold_gets_no_secrets_even_of_the_catalog_that_it_has(site: Site) -> None:
    await site.node("web1")
    await site.release("hunter22")
    digest, body = await site.served("web1")
    sessions = Sessions(site.database)
    await site.database.write(sessions.lock, "web1")
    await site.database.write(sessions.hold, "web1", 1)
    assert (await refused(site, "web1", digest, sorted(find_references(body))))[0] == "RELEASE-002"


async def test_answer_ends_with_the_value_that_makes_it_too_large(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await site.node("web1")
    lines = "\n".join(f"notify {{ '{n}': message => Sensitive('{n:03} {'x' * 100}') }}" for n in range(120))
    await site.deploy({"manifests/site.pp": lines})
    await site.settle()
    await site.releases.release(ReleaseBody(EVERYONE), "person:ann")
    digest, body = await site.served("web1")
    refs = sorted(find_references(body), reverse=True)
    assert len(await ask(site, "web1", digest, refs)) == 120
    monkeypatch.setattr(delivery, "MAX_ANSWER_BYTES", 6_000)
    first = await ask(site, "web1", digest, refs)
    assert list(first) == refs[: len(first)]
    assert 6_000 < sum(map(len, first.values())) < 6_200
    monkeypatch.setattr(delivery, "MAX_ANSWER_BYTES", 0)
    assert len(await ask(site, "web1", digest, refs)) == 1


async def test_master_key_that_is_replaced_between_two_answers_changes_no_value(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = KeyInMemory(b"o" * 32), KeyInMemory(b"n" * 32)
    site = Site(database, clock, old)
    try:
        await site.node("web1")
        await site.release("hunter22")
        digest, body = await site.served("web1")
        refs = sorted(find_references(body))
        assert len(refs) == 2
        monkeypatch.setattr(delivery, "MAX_ANSWER_BYTES", 0)  # one value in an answer
        first = await ask(site, "web1", digest, refs)
        # An operator puts a new key first; the server takes it up and wraps the keys of environments again.
        old.keys = (*new.keys, *old.keys)
        audit = AuditLog(database, TimeOrderedIds(clock))
        await KeyRotation(database, SecretKeys(database), site.keyring, audit, "a", "a").follow()
        second = await ask(site, "web1", digest, refs[1:])
    finally:
        await site.close()
    # Another server has only the new key.
    other = Site(database, clock, new)
    try:
        assert await ask(other, "web1", digest, refs) == first
        assert await ask(other, "web1", digest, refs[1:]) == second
    finally:
        await other.close()
    contents = fill_secrets(body, first | second).resources
    assert any(is_open(resource.parameters.get("content"), "hunter22 of web1") for resource in contents)


# Catalogs of entry points.


async def at_work(site: Site, job: str, node: str, *, is_its_turn: bool) -> str:
    """A job with a catalog of the entry point for a node; returns the digest."""
    await site.database.write(site.entries.want, [node], [ENTRY], site.clock.now())
    await site.settle()
    found = (await site.database.read(site.entries.find_entries, [node], [ENTRY]))[node, ENTRY]
    assert found.digest is not None, found.error
    key = AttemptKey(job, 1, node, 1)

    def write() -> Transaction[list[EntryPin]]:
        yield from site.jobs.create(NewJobRow(job, "plan", b"{}", None, None, "person:ann"), 1)
        yield from site.attempts.add(job, 1, 60.0, [NewAttempt(key.task, node, 0, 0)])
        return (yield from site.entries.hold(job, [EntryPin(node, ENTRY, found.digest or "")]))

    assert await site.database.write(write) == []
    if is_its_turn:
        await site.database.write(site.attempts.give_turn, key, site.clock.now() + timedelta(hours=1))
    return found.digest


async def entry_refs(site: Site, node: str, digest: str) -> list[str]:
    return sorted(find_references(bodies.decode((await site.downloads.fetch_entry(node, ENTRY, digest)).body)))


async def test_secrets_of_an_entry_point_open_only_while_a_job_is_at_work_on_the_node(site: Site) -> None:
    for name in ("web1", "web2"):
        await site.node(name)
    await site.release("hunter22")
    digest = await at_work(site, "job1", "web1", is_its_turn=False)
    waiting = await refused(site, "web1", digest, ["0" * 64], ENTRY)
    assert waiting[0] == "RELEASE-006"
    key = AttemptKey("job1", 1, "web1", 1)
    await site.database.write(site.attempts.give_turn, key, site.clock.now() + timedelta(hours=1))
    (ref,) = await entry_refs(site, "web1", digest)
    assert await ask(site, "web1", digest, [ref], ENTRY) == {ref: b'"hunter22 of the entry"'}
    # Neither another node, nor another entry point, nor as a released catalog, nor a secret of the released one.
    assert await refused(site, "web2", digest, [ref], ENTRY) == waiting
    assert await refused(site, "web1", digest, [ref], "other.pp") == waiting
    assert (await refused(site, "web1", digest, [ref]))[0] == "RELEASE-007"
    served, body = await site.served("web1")
    released = sorted(find_references(body))
    assert (await refused(site, "web1", digest, released, ENTRY))[0] == "RELEASE-008"
    assert (await refused(site, "web1", served, [ref]))[0] == "RELEASE-008"
    assert await site.database.write(site.attempts.end, key, states.QUEUED, Ending(states.COMPLETED))
    assert await refused(site, "web1", digest, [ref], ENTRY) == waiting
