"""Catalogs of entry points on both databases: wanted, decided with the node, pinned by jobs, and fetched only by whom they are for."""

import base64
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from lab.compile_services import CompileServices
from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError, NotFoundError
from precast.base.ids import CountedIds
from precast.catalog import body as bodies
from precast.catalog.secret_references import references
from precast.services.catalogs.problems import CatalogProblems
from precast.services.catalogs.pruning import CatalogPruner
from precast.services.catalogs.views import CatalogViews
from precast.services.clocks.guard import ClockGuard
from precast.services.compile.entry_points import EntryCatalog
from precast.services.compile.requests import CompileRequests
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.catalogs.entries import EntryRow
from precast.store.catalogs.entry_holds import EntryPin
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.facts import Facts
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import AttemptKey, Attempts, Ending, NewAttempt
from precast.store.jobs.jobs import Jobs, NewJobRow
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.release_pointer import ReleasePointer, SignedRelease
from precast.wire.jobs import states

DAY_S = 86_400
CODE = {
    "hiera.yaml": "version: 5\nhierarchy:\n  - {name: common, path: common.yaml}\n",
    "data/common.yaml": "motd: hello\n",
    "manifests/site.pp": "notify { 'site': message => $facts['colour'] }\n",
    "modules/web/files/issue": "an issue\n",
    "modules/web/examples/hosts.pp": "file { '/etc/hosts': content => \"${facts['networking']['hostname']} ${lookup('motd')}\\n\" }\n"
    "file { '/etc/issue': source => 'puppet:///modules/web/issue' }\n",
    "plans/web/first.pp": "notify { 'first': message => $facts['size'] }\n",
    "plans/web/broken.pp": "include nothing_such\n",
}
HOSTS, FIRST, BROKEN = "modules/web/examples/hosts.pp", "plans/web/first.pp", "plans/web/broken.pp"


class Site(CompileServices):
    """Nodes with entry points, and jobs that hold their catalogs."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        super().__init__(database)
        self.clock = clock
        self.jobs, self.attempts = Jobs(database), Attempts(database)
        stores = self.traces, self.catalogs, self.blobs, self.secrets
        self.pruning = CatalogPruner(database, *stores, ClockGuard(database, "boot"))
        self.problems = CatalogProblems(database, self.catalogs, self.traces, Facts(database), self.work)
        self.views = CatalogViews(database, self.catalogs, self.traces, self.environments)
        audit = AuditLog(database, CountedIds())
        self.requests = CompileRequests(database, self.catalogs, self.traces, self.inputs, self.work, audit)

    async def node(self, name: str, **facts: Any) -> None:
        await self.introduce(name)
        given = {"colour": "red", "size": "small", "networking": {"hostname": name.partition(".")[0]}, **facts}
        await self.submit(name, given, {})
        self.clock.advance(3600)

    async def want(self, nodes: list[str], *entries: str) -> None:
        await self.database.write(self.entries.want, nodes, list(entries), self.clock.now())

    async def find(self, nodes: list[str], *entries: str) -> dict[tuple[str, str], EntryCatalog]:
        return await self.database.read(self.entries.find_entries, nodes, list(entries))

    async def digest(self, node: str, entry: str) -> str:
        found = (await self.find([node], entry))[node, entry]
        assert found.digest is not None, found.error
        return found.digest

    async def row(self, node: str, entry: str) -> EntryRow:
        rows = (await self.database.read(self.catalogs.entries.list_wanted, [node]))[node]
        return next(row for row in rows if row.entry == entry)

    async def hold(self, job: str, node: str, entry: str) -> str:
        """A job pins what is staged, and has an attempt on the node that is not its turn yet."""
        digest = await self.digest(node, entry)
        key = AttemptKey(job, 1, node, 1)

        def write() -> Transaction[list[EntryPin]]:
            yield from self.jobs.create(NewJobRow(job, "plan", b"{}", None, None, "person:ann"), 1)
            yield from self.attempts.add(job, 1, 60.0, [NewAttempt(key.task, node, 0, 0)])
            return (yield from self.entries.hold(job, [EntryPin(node, entry, digest)]))

        assert await self.database.write(write) == []
        return digest

    async def give_turn(self, job: str, node: str) -> None:
        at = self.clock.now() + timedelta(hours=1)
        await self.database.write(self.attempts.give_turn, AttemptKey(job, 1, node, 1), at)

    async def end(self, job: str, node: str, before: str) -> None:
        ending = Ending(states.COMPLETED)
        assert await self.database.write(self.attempts.end, AttemptKey(job, 1, node, 1), before, ending)


@pytest.fixture
async def site(database: Database, clock: ManualClock) -> AsyncIterator[Site]:
    made = Site(database, clock)
    await made.deploy(CODE)
    yield made
    await made.close()


async def test_wanted_entry_points_are_decided_with_their_node_and_shared_like_its_catalog(site: Site) -> None:
    for name in ("web1", "web2", "web3"):
        await site.node(name)
    assert await site.settle() == 1
    main = (await site.staged("web1")).digest
    assert await site.find(["web1"], HOSTS) == {}
    await site.want(["web1", "web2"], HOSTS, FIRST)
    # One compile for each entry point: the nodes differ only in values that stay open.
    assert await site.settle() == 2
    found = await site.find(["web1", "web2", "web3"], HOSTS, FIRST)
    assert sorted(found) == [(node, entry) for node in ("web1", "web2") for entry in (HOSTS, FIRST)]
    assert found["web1", FIRST] == found["web2", FIRST]
    assert found["web1", HOSTS].digest != found["web2", HOSTS].digest
    assert len({main, *(catalog.digest for catalog in found.values())}) == 4
    assert (await site.staged("web1")).digest == main


async def test_want_is_idempotent_and_requests_nothing_that_is_decided(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], HOSTS)
    await site.settle()
    await site.want(["web1"], HOSTS)
    assert await site.work.list_waiting() == []
    await site.want(["web1"], HOSTS, FIRST)
    assert [(item.kind, item.key) for item in await site.work.list_waiting()] == [(DECIDE.name, "web1")]


async def test_changed_code_restages_only_what_read_it(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], HOSTS, FIRST)
    await site.settle()
    before = await site.find(["web1"], HOSTS, FIRST)
    main = (await site.staged("web1")).digest
    version = await site.deploy({**CODE, "data/common.yaml": "motd: changed\n"})
    # Not decided upon with the new code yet.
    assert await site.find(["web1"], HOSTS, FIRST) == {}
    assert await site.settle() == 1
    after = await site.find(["web1"], HOSTS, FIRST)
    assert after["web1", HOSTS].digest != before["web1", HOSTS].digest
    assert after["web1", FIRST].digest == before["web1", FIRST].digest
    assert {catalog.version for catalog in after.values()} == {version}
    assert (await site.staged("web1")).digest == main


async def test_changed_fact_that_only_an_entry_point_reads_decides_again(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], FIRST)
    await site.settle()
    before = await site.digest("web1", FIRST)
    await site.node("web1", size="large")
    assert await site.settle() == 1
    assert await site.digest("web1", FIRST) != before
    # A fact that nothing reads requests no decision.
    await site.node("web1", size="large", weight=3)
    await site.facts.work_off("f")
    site.clock.advance(1)
    assert await site.work.list_waiting() == []


async def test_value_that_stays_open_gives_another_digest_without_a_compile(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], HOSTS)
    await site.settle()
    before = await site.digest("web1", HOSTS)
    await site.node("web1", networking={"hostname": "renamed"})
    assert await site.settle() == 0
    assert await site.digest("web1", HOSTS) != before


async def test_error_of_an_entry_point_is_a_leaf_of_its_own_and_is_listed(site: Site) -> None:
    for name in ("web1", "web2"):
        await site.node(name)
    await site.want(["web1", "web2"], BROKEN, "plans/web/missing.pp")
    assert await site.settle() == 3
    found = await site.find(["web1"], BROKEN, "plans/web/missing.pp")
    assert found["web1", BROKEN].digest is None
    assert "nothing_such" in found["web1", BROKEN].error
    assert "plans/web/missing.pp" in found["web1", "plans/web/missing.pp"].error
    assert (await site.staged("web1")).digest is not None
    errors = await site.problems.list_errors("")
    assert [(error.node, error.entry) for error in errors] == [
        (node, entry) for node in ("web1", "web2") for entry in (BROKEN, "plans/web/missing.pp")
    ]
    assert [error.node for error in await site.problems.list_errors(errors[1].position)] == ["web2", "web2"]
    await site.deploy({**CODE, BROKEN: "notify { 'mended': }\n", "plans/web/missing.pp": "notify { 'there': }\n"})
    await site.settle()
    assert await site.problems.list_errors("") == []


async def test_errors_of_nodes_are_listed_before_those_of_entry_points(site: Site) -> None:
    await site.deploy({**CODE, "manifests/site.pp": "include nowhere\n"})
    for name in ("web1", "web2"):
        await site.node(name)
    await site.want(["web1"], BROKEN)
    await site.settle()
    errors = await site.problems.list_errors("")
    assert [error.position for error in errors] == ["web1", "web2", f"web1 {BROKEN}"]
    for number, error in enumerate(errors, start=1):
        assert await site.problems.list_errors(error.position) == errors[number:]


async def test_problems_of_an_entry_point_are_warnings(site: Site) -> None:
    await site.deploy({**CODE, FIRST: "selboolean { 'a': }\n"})
    await site.node("web1")
    await site.want(["web1"], FIRST)
    await site.settle()
    (warning,) = await site.problems.list_warnings("")
    assert (warning.node, warning.entry) == ("web1", FIRST)
    assert "selboolean" in warning.problems[0].text.lower()


async def test_nodes_that_can_have_no_catalog_say_why(site: Site) -> None:
    await site.introduce("silent")
    await site.node("web1")
    await site.want(["silent", "web1", "nobody"], FIRST)
    await site.settle()
    found = await site.find(["silent", "nobody", "web1"], FIRST)
    assert found["silent", FIRST].error == "the node has sent no facts"
    assert found["nobody", FIRST].error == "the node does not exist, or is not active"
    assert found["web1", FIRST].digest is not None


async def test_compile_that_was_given_up_says_why_and_wanting_it_again_tries_again(site: Site) -> None:
    await site.node("web1")
    await site.settle()
    await site.want(["web1"], FIRST)
    await site.decisions.work_off("d")
    for _ in range(COMPILE.max_attempts):
        (claim,) = await site.work.claim(COMPILE.name, "c", limit=1, lease_s=60)
        await site.work.fail(claim, "no memory left")
        site.clock.advance(3600)
    assert (await site.find(["web1"], FIRST))["web1", FIRST].error == "its compile was given up: no memory left"
    # The node's own catalog is not affected.
    assert (await site.views.show("web1")).staged is not None
    await site.want(["web1"], FIRST)
    assert await site.settle() == 1
    assert await site.digest("web1", FIRST)


@pytest.mark.parametrize("entry", ["/etc/x.pp", "../x.pp", "a/../../b.pp", ""])
async def test_entry_point_outside_the_environment_cannot_be_wanted(site: Site, entry: str) -> None:
    await site.node("web1")
    with pytest.raises(InputError) as raised:
        await site.want(["web1"], entry)
    assert raised.value.code == "LANG-767"


async def test_many_entry_points_of_many_nodes_are_decided_in_several_transactions(site: Site) -> None:
    entries = {f"plans/many/{number:02}.pp": f"notify {{ 'number {number}': }}\n" for number in range(40)}
    await site.deploy({**CODE, **entries})
    nodes = [f"web{number}" for number in range(20)]
    for name in nodes:
        await site.node(name)
    await site.want(nodes, *entries)
    assert await site.settle() == 41
    found = await site.find(nodes, *entries)
    assert len(found) == 800
    assert len({catalog.digest for catalog in found.values()}) == 40


# Pins


async def test_held_catalog_is_neither_changed_by_a_decision_nor_pruned(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], HOSTS)
    await site.settle()
    digest = await site.hold("job1", "web1", HOSTS)
    skeleton = (await site.row("web1", HOSTS)).skeleton or ""
    await site.give_turn("job1", "web1")
    before = await site.downloads.fetch_entry("web1", HOSTS, digest)
    await site.deploy({**CODE, "data/common.yaml": "motd: changed\n"})
    await site.settle()
    assert await site.digest("web1", HOSTS) != digest
    site.clock.advance(40 * DAY_S)
    await site.pruning.prune()
    after = await site.downloads.fetch_entry("web1", HOSTS, digest)
    assert (after.digest, after.body) == (digest, before.body)
    assert digests.of_bytes(after.body) == digest
    issue = digests.of_bytes(CODE["modules/web/files/issue"].encode())
    assert await site.downloads.size_of_content("web1", issue) == len("an issue\n")
    # Let go of it, and it is deleted: nobody has wanted the entry point for forty days.
    await site.database.write(site.entries.release, "job1")
    with pytest.raises(NotFoundError):
        await site.downloads.fetch_entry("web1", HOSTS, digest)
    held = await site.database.read(site.catalogs.documents.filter_used, [skeleton])
    await site.pruning.prune()
    assert held == set()
    assert await site.database.read(site.catalogs.documents.find, skeleton) is None


async def test_held_catalog_keeps_its_secrets(site: Site) -> None:
    async def deploy(secret: str) -> str:
        await site.deploy({**CODE, HOSTS: f"file {{ '/etc/token': content => Sensitive('{secret}') }}\n"})
        await site.settle()
        document = await site.catalogs.documents.read((await site.row("web1", HOSTS)).skeleton or "")
        assert document is not None
        return next(ref for each in bodies.decode(document).resources for ref in references(each.parameters))

    await site.node("web1")
    await site.want(["web1"], HOSTS)
    await deploy("base-secret")
    ref = await deploy("held-secret")
    await site.hold("job1", "web1", HOSTS)
    assert await deploy("later-secret") != ref
    site.clock.advance(40 * DAY_S)
    await site.pruning.prune()
    (value,) = await site.secret_values.open_values("production", [ref])
    assert value.value == b'"held-secret"'
    await site.database.write(site.entries.release, "job1")
    await site.pruning.prune()
    assert await site.secret_values.open_values("production", [ref]) == []


async def test_pin_of_a_catalog_that_is_no_longer_staged_is_given_back(site: Site) -> None:
    for name in ("web1", "web2"):
        await site.node(name)
    await site.want(["web1", "web2"], FIRST)
    await site.settle()
    pins = [EntryPin(node, FIRST, await site.digest(node, FIRST)) for node in ("web1", "web2")]
    await site.node("web1", size="large")
    await site.settle()
    assert await site.database.write(site.entries.hold, "job1", pins) == [pins[0]]
    await site.database.write(site.entries.copy_holds, "job1", "job2", [("web1", FIRST), ("web2", FIRST)])
    await site.database.write(site.entries.release, "job1")
    held = await site.database.read(site.catalogs.holds.find, "web2", FIRST, pins[1].digest, ["job1", "job2"])
    assert held is not None
    assert held.job == "job2"


async def test_want_that_nobody_renews_is_deleted_and_decided_no_more(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], HOSTS, FIRST)
    await site.settle()
    site.clock.advance(20 * DAY_S)
    await site.want(["web1"], FIRST)
    assert (await site.pruning.prune()).entries == 0
    site.clock.advance(15 * DAY_S)
    assert (await site.pruning.prune()).entries == 1
    assert sorted(await site.find(["web1"], HOSTS, FIRST)) == [("web1", FIRST)]
    await site.deploy({**CODE, "data/common.yaml": "motd: changed\n"})
    assert await site.settle() == 0


async def test_trace_of_a_staged_entry_point_is_not_pruned(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], FIRST)
    await site.settle()
    for _ in range(3):
        site.clock.advance(25 * DAY_S)
        await site.want(["web1"], FIRST)
        assert (await site.pruning.prune()).chains == 0
    assert (await site.views.show("web1", FIRST)).error is None
    assert [read.answer for read in (await site.views.why("web1", FIRST)).reads if read.question == "entry"] == [FIRST]


# Delivery


async def test_node_fetches_a_held_catalog_only_while_it_has_its_turn_or_is_at_work(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], HOSTS)
    await site.settle()
    digest = await site.hold("job1", "web1", HOSTS)
    issue = digests.of_bytes(CODE["modules/web/files/issue"].encode())

    async def refuse() -> None:
        with pytest.raises(NotFoundError) as raised:
            await site.downloads.fetch_entry("web1", HOSTS, digest)
        assert raised.value.code == "RELEASE-006"
        with pytest.raises(NotFoundError) as raised:
            await site.downloads.size_of_content("web1", issue)
        assert raised.value.code == "ENV-013"

    await refuse()
    await site.give_turn("job1", "web1")
    assert (await site.downloads.fetch_entry("web1", HOSTS, digest)).digest == digest
    assert await site.database.write(site.attempts.pick_up, AttemptKey("job1", 1, "web1", 1))
    assert (await site.downloads.fetch_entry("web1", HOSTS, digest)).digest == digest
    assert await site.downloads.size_of_content("web1", issue) == 9
    await site.end("job1", "web1", states.PICKED_UP)
    await refuse()


async def test_another_node_entry_or_digest_is_refused_as_if_it_did_not_exist(site: Site) -> None:
    for name in ("web1", "web2"):
        await site.node(name)
    await site.want(["web1", "web2"], HOSTS, FIRST)
    await site.settle()
    digest, other = await site.hold("job1", "web1", HOSTS), await site.hold("job2", "web2", HOSTS)
    for job, node in (("job1", "web1"), ("job2", "web2")):
        await site.give_turn(job, node)
    texts = set()
    for node, entry, wanted in (
        ("web1", HOSTS, other),
        ("web2", HOSTS, digest),
        ("web1", FIRST, digest),
        ("web1", "", digest),
        ("web1", HOSTS, "0" * 64),
        ("web1", HOSTS, "../x"),
        ("web1", FIRST, await site.digest("web1", FIRST)),
    ):
        with pytest.raises(NotFoundError) as raised:
            await site.downloads.fetch_entry(node, entry, wanted)
        texts.add(raised.value.message)
    assert len(texts) == 1


async def test_pointer_of_an_entry_point_names_it_and_is_none_of_a_release(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], HOSTS)
    await site.settle()
    digest = await site.hold("job1", "web1", HOSTS)
    await site.give_turn("job1", "web1")
    given = (await site.downloads.fetch_entry("web1", HOSTS, digest)).pointer
    signed = msgspec.json.decode(base64.b64decode(given), type=SignedRelease)
    pointer = msgspec.json.decode(signed.release, type=ReleasePointer)
    assert (pointer.node, pointer.entry, pointer.digest, pointer.release) == ("web1", HOSTS, digest, 0)
    assert pointer.sequence > 0


async def test_node_on_hold_gets_no_catalog_of_an_entry_point(site: Site) -> None:
    await site.node("web1")
    await site.want(["web1"], HOSTS)
    await site.settle()
    digest = await site.hold("job1", "web1", HOSTS)
    await site.give_turn("job1", "web1")
    sessions = Sessions(site.database)
    await site.database.write(sessions.lock, "web1")
    await site.database.write(sessions.hold, "web1", 1)
    with pytest.raises(ConflictError, match="web1 is on hold"):
        await site.downloads.fetch_entry("web1", HOSTS, digest)


# Requests of people


async def test_person_who_asks_for_an_entry_point_wants_it_and_sees_its_progress(site: Site) -> None:
    await site.node("web1")
    await site.settle()
    with pytest.raises(NotFoundError, match="nothing was decided for its entry point"):
        await site.views.show("web1", FIRST)
    assert (await site.requests.ask("web1", "person:ann", FIRST)).state == "queued"
    await site.decisions.work_off("d")
    assert (await site.requests.progress("web1", FIRST)).state == "queued"
    assert (await site.requests.progress("web1")).state == "done"
    await site.settle()
    assert (await site.requests.progress("web1", FIRST)).state == "done"
    view = await site.views.show("web1", FIRST)
    assert (view.state, view.entry, view.staged) == ("staged", FIRST, await site.digest("web1", FIRST))
    with pytest.raises(InputError):
        await site.requests.ask("web1", "person:ann", "../x.pp")
