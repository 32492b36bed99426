"""Code that takes for ever or needs any memory when a server replays a trace: it fails the nodes concerned, and nobody else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lab.compile_services import CompileServices
from precast.lang import node_matching
from precast.lang.hiera.data import documents, files
from precast.services.traces.costly_processes import CostlyLimits
from precast.services.work_kinds import DECIDE
from precast.store.engine.database import Database
from precast.store.nodes.nodes import NodeClassification
from precast.store.queue.kinds import ItemRequest

MEMORY = 400 * 1024 * 1024
SOON_LATE = CostlyLimits(budget_s=5.0, memory_bytes=MEMORY)
NEVER_LATE = CostlyLimits(budget_s=600.0, memory_bytes=MEMORY)
HIERA = "version: 5\nhierarchy:\n  - name: common\n    path: common.yaml\n"
CODE = {
    "manifests/site.pp": "notify { lookup('greeting'): }",
    "hiera.yaml": HIERA,
    "data/common.yaml": "greeting: hi\n",
}
# A node name that makes an engine with backtracking try more ways than there are atoms: each letter doubles them.
HOSTILE_NAME = "a" * 60


class Site(CompileServices):
    """Two environments: `production`, whose code is hostile, and `quiet`."""

    async def node(self, name: str, environment: str) -> None:
        await self.introduce(name)
        classified = NodeClassification(environment, None, True, {}, {})
        await self.database.write(self.fleet.set_classification, name, classified)
        await self.submit(name, {"os": {"family": "Debian"}}, {})

    async def decide_again(self, *names: str) -> None:
        await self.database.write(self.work.enqueue_items, DECIDE.name, [ItemRequest(name) for name in names])

    async def failures(self) -> dict[str, str]:
        """The nodes whose decision failed, with the reason."""
        waiting = [(item.kind, item.key, item.last_error or "") for item in await self.work.list_waiting()]
        dead = [(item.kind, item.key, item.last_error) for item in await self.work.list_dead()]
        return {key: error for kind, key, error in [*waiting, *dead] if kind == DECIDE.name and error}


@asynccontextmanager
async def _site(database: Database, limits: CostlyLimits) -> AsyncIterator[Site]:
    made = Site(database, limits)
    await made.deploy(CODE, "quiet")
    await made.node("calm.example.org", "quiet")
    yield made
    await made.close()


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    async with _site(database, NEVER_LATE) as made:
        yield made


@pytest.fixture
async def impatient_site(database: Database) -> AsyncIterator[Site]:
    async with _site(database, SOON_LATE) as made:
        yield made


@pytest.fixture
def evaluates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process, which stands for the server, must neither backtrack nor parse data; its child processes may."""

    def refuse(*_: object) -> None:
        raise AssertionError("evaluated in the server")

    monkeypatch.setattr(node_matching, "compile_regexp", refuse)
    for reader in files.READERS:
        monkeypatch.setitem(files.READERS, reader, refuse)
    monkeypatch.setattr(documents, "read_yaml", refuse)


def site_with(pattern: str) -> dict[str, str]:
    return {
        "manifests/site.pp": f"node {pattern} {{ notify {{ 'matched': }} }}\nnode default {{ notify {{ 'other': }} }}"
    }


@pytest.mark.usefixtures("evaluates_nothing")
@pytest.mark.parametrize("pattern", ["/^(a+)+$/", "/^(a|aa)+!/", "/^(([a-z])+.)+[A-Z]([a-z])+$/", "/(x*x*)y|(a+)+b/"])
async def test_name_that_explodes_a_node_block_is_matched_in_linear_time(site: Site, pattern: str) -> None:
    await site.deploy(site_with(pattern))
    await site.node("web1.example.org", "production")
    await site.settle()
    await site.node(f"{HOSTILE_NAME}.example.org", "production")
    await site.settle()
    assert (await site.staged(f"{HOSTILE_NAME}.example.org")).digest is not None


@pytest.mark.usefixtures("evaluates_nothing")
async def test_node_block_that_needs_backtracking_is_matched_elsewhere(site: Site) -> None:
    await site.deploy(site_with(r"/^(?!db)([a-z])\1/"))
    for name in ("web1", "aab", "db1"):
        await site.node(f"{name}.example.org", "production")
    await site.settle()
    staged = {name: (await site.staged(f"{name}.example.org")).digest for name in ("web1", "aab", "db1")}
    assert staged["web1"] == staged["db1"] != staged["aab"]


@pytest.mark.usefixtures("evaluates_nothing")
async def test_node_block_that_takes_for_ever_fails_the_nodes_it_is_slow_for(impatient_site: Site) -> None:
    await impatient_site.deploy(site_with(r"/^(?!b)(a|aa)+$/"))
    await impatient_site.node("web1.example.org", "production")
    await impatient_site.settle()
    await impatient_site.node(HOSTILE_NAME + ".b", "production")
    await impatient_site.decide_again("calm.example.org")
    await impatient_site.settle()
    failures = await impatient_site.failures()
    assert list(failures) == [HOSTILE_NAME + ".b"]
    assert "TRACE-002" in failures[HOSTILE_NAME + ".b"]
    assert (await impatient_site.staged("web1.example.org")).digest is not None
    assert (await impatient_site.staged("calm.example.org")).digest is not None
    # What the environment has spent is spent: the next such question is refused without another attempt.
    await impatient_site.node(HOSTILE_NAME + ".c", "production")
    await impatient_site.settle()
    assert "TRACE-002" in (await impatient_site.failures())[HOSTILE_NAME + ".c"]


@pytest.mark.usefixtures("evaluates_nothing")
async def test_data_file_that_needs_any_memory_fails_only_its_environment(site: Site) -> None:
    await site.deploy(CODE)
    await site.node("web1.example.org", "production")
    await site.settle()
    before = await site.staged("web1.example.org")
    bomb = "x: &x " + "a" * 1_000_000 + "\nmany: [" + ", ".join(["*x"] * 50_000) + "]\ngreeting: hi\n"
    await site.deploy({**CODE, "data/common.yaml": bomb})
    await site.deploy({**CODE, "data/common.yaml": "greeting: hello\n"}, "quiet")
    await site.settle()
    assert "TRACE-003" in (await site.failures())["web1.example.org"]
    assert (await site.staged("web1.example.org")).version == before.version
    assert "calm.example.org" not in await site.failures()


@pytest.mark.usefixtures("evaluates_nothing")
async def test_file_with_very_many_keys_is_one_answer_and_a_change_of_it_compiles(site: Site) -> None:
    many = "".join(f"k{number}: {number}\n" for number in range(20_100))
    await site.deploy({**CODE, "data/common.yaml": f"greeting: hi\n{many}"})
    await site.node("web1.example.org", "production")
    assert await site.settle() == 2
    await site.deploy({**CODE, "data/common.yaml": f"greeting: hi\n{many}more: 1\n"})
    assert await site.settle() == 1
    assert (await site.staged("web1.example.org")).digest is not None
