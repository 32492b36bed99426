"""Deciding and compiling on both databases: one compile for like nodes, none for what nobody reads, staged and never served."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from lab.compiling import Compiling
from precast.base import digests
from precast.base.clock import ManualClock
from precast.catalog import body as bodies
from precast.catalog.skeleton import Skeleton
from precast.lang.answers import FileStore, NodeAnswers, TextTree
from precast.lang.compile import compile_catalog
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings
from precast.services.compile.inputs import node_data
from precast.services.work_kinds import DECIDE
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.queue.kinds import Asked
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import NodesDeed, TargetsBody

CODE = {
    "manifests/site.pp": "include profile\n",
    "modules/profile/manifests/init.pp": """
class profile(String $motd = 'none') {
  file { '/etc/motd': content => "${motd} on ${facts['networking']['hostname']}\\n" }
  if $facts['os']['family'] == 'Debian' { package { 'apt': } }
  service { 'web': subscribe => File['/etc/motd'] }
}
""",
    "hiera.yaml": """
version: 5
hierarchy:
  - name: node
    path: "nodes/%{trusted.certname}.yaml"
  - name: common
    path: common.yaml
""",
    "data/common.yaml": "profile::motd: hello\nunread: 1\n",
}


class Compiler(Compiling):
    """With nodes of the kind that the code above is for."""

    async def node(self, name: str, **facts: Any) -> None:
        await self.introduce(name)
        stable = {"os": {"family": "Debian"}, "networking": {"hostname": name.partition(".")[0]}, **facts}
        await self.submit(name, stable, {"uptime": 1})

    async def body(self, name: str) -> bodies.Body:
        staged = await self.staged(name)
        assert staged.skeleton is not None
        document = await self.catalogs.read_document(staged.skeleton)
        assert document is not None
        values = {tuple(hole): value for hole, value in msgspec.json.decode(staged.fill)}
        data = Skeleton(document).filled(values)
        assert digests.of_bytes(data) == staged.digest
        return bodies.decode(data)

    async def motd(self, name: str) -> str:
        (found,) = [one for one in (await self.body(name)).resources if one.ref == "File[/etc/motd]"]
        return str(found.parameters["content"])


@pytest.fixture
async def compiler(database: Database) -> AsyncIterator[Compiler]:
    made = Compiler(database)
    yield made
    await made.workers.close()


async def test_like_nodes_share_one_compile_and_each_has_its_own_values(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    for number in range(5):
        await compiler.node(f"web{number}.example.org")
    assert await compiler.settle() == 1
    assert [await compiler.motd(f"web{number}.example.org") for number in range(3)] == [
        f"hello on web{number}\n" for number in range(3)
    ]
    assert len({(await compiler.staged(f"web{number}.example.org")).skeleton for number in range(5)}) == 1
    await compiler.node("other.example.org", os={"family": "RedHat"})
    assert await compiler.settle() == 1
    assert await compiler.motd("other.example.org") == "hello on other\n"


async def test_what_nobody_reads_compiles_nothing(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    await compiler.node("web1.example.org")
    await compiler.settle()
    before = await compiler.staged("web1.example.org")
    await compiler.node("web1.example.org", unread={"a": 1})
    assert await compiler.settle() == 0
    # A key that nobody read, a comment in a template nobody uses, a new module.
    await compiler.deploy(
        {
            **CODE,
            "data/common.yaml": "profile::motd: hello\nunread: 2\nmore: x\n",
            "modules/other/manifests/init.pp": "class other {}",
        }
    )
    assert await compiler.settle() == 0
    after = await compiler.staged("web1.example.org")
    assert (after.digest, after.changed_at) == (before.digest, before.changed_at)
    assert after.version != before.version


async def test_change_that_was_read_compiles_for_those_who_read_it(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    await compiler.node("web1.example.org")
    await compiler.node("web2.example.org")
    await compiler.settle()
    await compiler.deploy({**CODE, "data/nodes/web2.example.org.yaml": "profile::motd: own\n"})
    assert await compiler.settle() == 1
    assert await compiler.motd("web1.example.org") == "hello on web1\n"
    assert await compiler.motd("web2.example.org") == "own on web2\n"
    # Back to what was: everything is known.
    await compiler.deploy(CODE)
    assert await compiler.settle() == 0
    assert await compiler.motd("web2.example.org") == "hello on web2\n"


async def test_error_of_the_code_is_a_leaf_and_shared(compiler: Compiler) -> None:
    await compiler.deploy({**CODE, "manifests/site.pp": "include nowhere\n"})
    await compiler.node("web1.example.org")
    await compiler.node("web2.example.org")
    assert await compiler.settle() == 1
    broken = await compiler.database.read(compiler.catalogs.broken, "", 10)
    assert [one.node for one in broken] == ["web1.example.org", "web2.example.org"]
    hung = await compiler.database.read(compiler.traces.finding_by_id, broken[0].chain)
    assert hung is not None
    assert "nowhere" in msgspec.json.decode(hung.chain.leaf)["error"]
    await compiler.deploy(CODE)
    assert await compiler.settle() == 1
    assert await compiler.database.read(compiler.catalogs.broken, "", 10) == []


async def test_staged_catalog_is_not_served_until_it_is_released_and_rolls_back(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    await compiler.node("web1.example.org")
    await compiler.settle()
    targets = TargetsBody(["web1.example.org"])
    with pytest.raises(Exception, match="nothing was released"):
        await compiler.releases.fetch("web1.example.org", "")
    assert (await compiler.releases.release(ReleaseBody(targets), "person:a")).released == ["web1.example.org"]
    first = await compiler.releases.fetch("web1.example.org", "")
    assert first.body is not None
    assert digests.of_bytes(first.body) == first.release.digest
    assert (await compiler.releases.fetch("web1.example.org", first.release.digest)).body is None
    assert (await compiler.releases.release(ReleaseBody(targets), "person:a")).unchanged == ["web1.example.org"]

    await compiler.deploy({**CODE, "data/common.yaml": "profile::motd: changed\n"})
    await compiler.settle()
    assert (await compiler.releases.fetch("web1.example.org", "")).release.digest == first.release.digest
    preview = await compiler.releases.preview(ReleaseBody(targets))
    assert [(one.ref, one.kind, one.count) for one in preview.changes] == [("File[/etc/motd]", "changed", 1)]
    assert [(one.ref, one.count) for one in preview.refreshed] == [("Service[web]", 1)]
    (content,) = preview.changes[0].parameters
    assert content.before == "hello on <facts.networking.hostname>\n"
    assert content.after == "changed on <facts.networking.hostname>\n"
    own = await compiler.releases.difference("web1.example.org")
    (told,) = own.changes[0].parameters
    assert (told.before, told.after) == ("hello on web1\n", "changed on web1\n")
    await compiler.releases.release(ReleaseBody(targets), "person:a")
    second = await compiler.releases.fetch("web1.example.org", "")
    assert second.release.number == 2
    assert second.release.digest != first.release.digest
    assert (await compiler.releases.rollback(NodesDeed(targets, "no"), "person:a")).released == ["web1.example.org"]
    back = await compiler.releases.fetch("web1.example.org", "")
    assert (back.release.digest, back.body) == (first.release.digest, first.body)


async def test_walked_catalogs_equal_cold_compiles(compiler: Compiler) -> None:
    await compiler.deploy({**CODE, "data/nodes/web2.example.org.yaml": "profile::motd: own\n"})
    for number in range(4):
        await compiler.node(f"web{number}.example.org", os={"family": "Debian" if number % 2 else "RedHat"})
    await compiler.settle()
    store = FileStore(TextTree({**CODE, "data/nodes/web2.example.org.yaml": "profile::motd: own\n"}))
    for number in range(4):
        name = f"web{number}.example.org"
        (known,) = await compiler.database.read(compiler.inputs.reading, [name])
        node = node_data(known)
        cold = compile_catalog(Inputs(NodeAnswers(node, store)), Settings())
        assert (await compiler.staged(name)).skeleton == cold.body.digest()


async def test_compiles_are_asked_for_once_however_many_wait(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    for number in range(30):
        await compiler.node(f"n{number}.example.org")
    while await compiler.facts.work_off("f"):
        pass
    await compiler.decisions.spread("d")
    while await compiler.decisions.work_off("d"):
        pass
    waiting = [item for item in await compiler.work.waiting() if item.kind == "compile"]
    assert len(waiting) == 1
    assert len(await compiler.database.read(compiler.traces.waiters, waiting[0].key, 100)) == 30
    assert await compiler.settle() == 1
    assert await compiler.database.read(compiler.traces.waiters, waiting[0].key, 100) == []


async def test_node_that_is_gone_or_has_no_code_waits_for_nothing(compiler: Compiler) -> None:
    await compiler.node("web1.example.org")
    assert await compiler.settle() == 0

    def asking() -> Transaction[None]:
        yield from compiler.work.enqueuing_many(DECIDE.name, [Asked("nobody.example.org")])

    await compiler.database.write(asking)
    assert await compiler.settle() == 0
    assert await compiler.database.read(compiler.catalogs.staged, ["web1.example.org"]) == {}


async def test_preview_tells_like_changes_once_and_a_nodes_own_change_apart(
    compiler: Compiler, clock: ManualClock
) -> None:
    await compiler.deploy(CODE)
    for number in range(4):
        await compiler.node(f"web{number}.example.org")
    await compiler.settle()
    everyone = TargetsBody([], all=True)
    await compiler.releases.release(ReleaseBody(everyone), "person:a")
    await compiler.deploy({**CODE, "data/common.yaml": "profile::motd: changed\n"})
    await compiler.settle()
    preview = await compiler.releases.preview(ReleaseBody(everyone))
    assert [(one.ref, one.count) for one in preview.changes] == [("File[/etc/motd]", 4)]
    await compiler.releases.release(ReleaseBody(everyone), "person:a")
    # One node is called otherwise now: the code is the same, its catalog is not.
    await compiler.node("web1.example.org", networking={"hostname": "renamed"})
    await compiler.facts.work_off("f")
    clock.advance(1)
    assert await compiler.settle() == 0
    preview = await compiler.releases.preview(ReleaseBody(everyone))
    assert (preview.unchanged, [(one.ref, one.nodes) for one in preview.changes]) == (
        3,
        [("File[/etc/motd]", ["web1.example.org"])],
    )
    (content,) = preview.changes[0].parameters
    assert content.after == "changed on renamed\n"


async def test_code_sees_the_facts_of_server_and_agent_and_the_moment_of_the_deploy(compiler: Compiler) -> None:
    shown = "${servername} ${server_facts['servername']} ${clientcert} ${facts['clientversion']} ${facts['clientnoop']}"
    await compiler.deploy({"manifests/site.pp": f"$t = Timestamp().strftime('%Y')\nnotice(\"{shown} ${{t}}\")\n"})
    await compiler.node("web1.example.org")
    await compiler.settle()
    staged = await compiler.staged("web1.example.org")
    hung = await compiler.database.read(compiler.traces.finding_by_id, staged.chain)
    assert hung is not None
    ((level, text),) = msgspec.json.decode(hung.chain.leaf)["logs"]
    assert (level, text.partition(": ")[2] or text) == ("notice", "lab lab <facts.clientcert> 7.23.0 false 2030")
