"""Decisions and compiles on both databases: one compile for nodes of one kind, none for unread changes; staged, never served."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from lab.compile_services import CompileServices
from precast.base import digests
from precast.base.clock import ManualClock
from precast.catalog import body as bodies
from precast.catalog.skeleton import Skeleton
from precast.lang.compile import compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers
from precast.lang.settings import Settings
from precast.services.compile.inputs import node_data
from precast.services.work_kinds import DECIDE
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.queue.kinds import ItemRequest
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.nodes.bodies import TargetsBody

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


class Compiler(CompileServices):
    """The compile services with nodes for the code above."""

    async def node(self, name: str, **facts: Any) -> None:
        await self.introduce(name)
        stable = {"os": {"family": "Debian"}, "networking": {"hostname": name.partition(".")[0]}, **facts}
        await self.submit(name, stable, {"uptime": 1})

    async def body(self, name: str) -> bodies.Body:
        staged = await self.staged(name)
        assert staged.skeleton is not None
        document = await self.catalogs.documents.read(staged.skeleton)
        assert document is not None
        values = {tuple(hole): value for hole, value in msgspec.json.decode(staged.fill)}
        data = Skeleton(document).fill(values)
        assert digests.of_bytes(data) == staged.digest
        return bodies.decode(data)

    async def motd(self, name: str) -> str:
        (motd,) = [file for file in (await self.body(name)).resources if file.ref == "File[/etc/motd]"]
        return str(motd.parameters["content"])


@pytest.fixture
async def compiler(database: Database) -> AsyncIterator[Compiler]:
    made = Compiler(database)
    yield made
    await made.close()


async def test_nodes_of_one_kind_share_a_compile_and_each_has_its_own_values(compiler: Compiler) -> None:
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


async def test_change_that_no_compile_read_compiles_nothing(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    await compiler.node("web1.example.org")
    await compiler.settle()
    before = await compiler.staged("web1.example.org")
    await compiler.node("web1.example.org", unread={"a": 1})
    assert await compiler.settle() == 0
    # An unread key, a comment in an unused template, a new module.
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


async def test_change_that_was_read_compiles_for_the_nodes_that_read_it(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    await compiler.node("web1.example.org")
    await compiler.node("web2.example.org")
    await compiler.settle()
    await compiler.deploy({**CODE, "data/nodes/web2.example.org.yaml": "profile::motd: own\n"})
    assert await compiler.settle() == 1
    assert await compiler.motd("web1.example.org") == "hello on web1\n"
    assert await compiler.motd("web2.example.org") == "own on web2\n"
    # Back to the earlier data: all traces are known.
    await compiler.deploy(CODE)
    assert await compiler.settle() == 0
    assert await compiler.motd("web2.example.org") == "hello on web2\n"


async def test_code_error_is_a_shared_leaf(compiler: Compiler) -> None:
    await compiler.deploy({**CODE, "manifests/site.pp": "include nowhere\n"})
    await compiler.node("web1.example.org")
    await compiler.node("web2.example.org")
    assert await compiler.settle() == 1
    broken = await compiler.database.read(compiler.catalogs.staged.list_failed, "", 10)
    assert [failed.node for failed in broken] == ["web1.example.org", "web2.example.org"]
    hung = await compiler.database.read(compiler.traces.find_by_id, broken[0].chain)
    assert hung is not None
    assert "nowhere" in msgspec.json.decode(hung.chain.leaf)["error"]
    await compiler.deploy(CODE)
    assert await compiler.settle() == 1
    assert await compiler.database.read(compiler.catalogs.staged.list_failed, "", 10) == []


async def test_staged_catalog_is_not_served_until_it_is_released_and_rolls_back(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    await compiler.node("web1.example.org")
    await compiler.settle()
    targets = TargetsBody(["web1.example.org"])
    with pytest.raises(Exception, match="nothing was released"):
        await compiler.downloads.fetch("web1.example.org", "")
    assert (await compiler.releases.release(ReleaseBody(targets), "person:a")).released == ["web1.example.org"]
    first = await compiler.downloads.fetch("web1.example.org", "")
    assert first.body is not None
    assert digests.of_bytes(first.body) == first.release.digest
    assert (await compiler.downloads.fetch("web1.example.org", first.release.digest)).body is None
    assert (await compiler.releases.release(ReleaseBody(targets), "person:a")).unchanged == ["web1.example.org"]

    await compiler.deploy({**CODE, "data/common.yaml": "profile::motd: changed\n"})
    await compiler.settle()
    assert (await compiler.downloads.fetch("web1.example.org", "")).release.digest == first.release.digest
    preview = await compiler.previews.preview(ReleaseBody(targets))
    assert [(change.ref, change.kind, change.count) for change in preview.changes] == [
        ("File[/etc/motd]", "changed", 1)
    ]
    assert [(refresh.ref, refresh.count) for refresh in preview.refreshed] == [("Service[web]", 1)]
    (content,) = preview.changes[0].parameters
    assert content.before == "hello on <facts.networking.hostname>\n"
    assert content.after == "changed on <facts.networking.hostname>\n"
    own = await compiler.previews.difference("web1.example.org")
    (parameter,) = own.changes[0].parameters
    assert (parameter.before, parameter.after) == ("hello on web1\n", "changed on web1\n")
    await compiler.releases.release(ReleaseBody(targets), "person:a")
    second = await compiler.downloads.fetch("web1.example.org", "")
    assert second.release.number == 2
    assert second.release.digest != first.release.digest
    assert (await compiler.releases.rollback(RollbackBody(targets, "no"), "person:a")).released == ["web1.example.org"]
    back = await compiler.downloads.fetch("web1.example.org", "")
    assert (back.release.digest, back.body) == (first.release.digest, first.body)


async def test_walked_catalogs_equal_cold_compiles(compiler: Compiler) -> None:
    await compiler.deploy({**CODE, "data/nodes/web2.example.org.yaml": "profile::motd: own\n"})
    for number in range(4):
        await compiler.node(f"web{number}.example.org", os={"family": "Debian" if number % 2 else "RedHat"})
    await compiler.settle()
    store = FileStore(TextTree({**CODE, "data/nodes/web2.example.org.yaml": "profile::motd: own\n"}))
    for number in range(4):
        name = f"web{number}.example.org"
        (known,) = await compiler.database.read(compiler.inputs.read, [name])
        node = node_data(known)
        cold = compile_catalog(Inputs(NodeAnswers(node, store)), Settings())
        assert (await compiler.staged(name)).skeleton == cold.body.digest()


async def test_compile_is_requested_once_however_many_nodes_wait(compiler: Compiler) -> None:
    await compiler.deploy(CODE)
    for number in range(30):
        await compiler.node(f"n{number}.example.org")
    while await compiler.facts.work_off("f"):
        pass
    await compiler.decisions.spread("d")
    while await compiler.decisions.work_off("d"):
        pass
    waiting = [item for item in await compiler.work.list_waiting() if item.kind == "compile"]
    assert len(waiting) == 1
    assert len(await compiler.database.read(compiler.traces.list_waiters, waiting[0].key, 100)) == 30
    assert await compiler.settle() == 1
    assert await compiler.database.read(compiler.traces.list_waiters, waiting[0].key, 100) == []


async def test_purged_node_and_node_without_code_wait_for_nothing(compiler: Compiler) -> None:
    await compiler.node("web1.example.org")
    assert await compiler.settle() == 0

    def asking() -> Transaction[None]:
        yield from compiler.work.enqueue_items(DECIDE.name, [ItemRequest("nobody.example.org")])

    await compiler.database.write(asking)
    assert await compiler.settle() == 0
    assert await compiler.database.read(compiler.catalogs.staged.find, ["web1.example.org"]) == {}


async def test_preview_groups_equal_changes_and_shows_a_nodes_own_change_apart(
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
    preview = await compiler.previews.preview(ReleaseBody(everyone))
    assert [(change.ref, change.count) for change in preview.changes] == [("File[/etc/motd]", 4)]
    await compiler.releases.release(ReleaseBody(everyone), "person:a")
    # One node has another host name now: the code is the same, its catalog is not.
    await compiler.node("web1.example.org", networking={"hostname": "renamed"})
    await compiler.facts.work_off("f")
    clock.advance(1)
    assert await compiler.settle() == 0
    preview = await compiler.previews.preview(ReleaseBody(everyone))
    assert (preview.unchanged, [(change.ref, change.nodes) for change in preview.changes]) == (
        3,
        [("File[/etc/motd]", ["web1.example.org"])],
    )
    (content,) = preview.changes[0].parameters
    assert content.after == "changed on renamed\n"


async def test_code_sees_the_facts_of_server_and_agent_and_the_time_of_the_deploy(compiler: Compiler) -> None:
    shown = "${servername} ${server_facts['servername']} ${clientcert} ${facts['clientversion']} ${facts['clientnoop']}"
    await compiler.deploy({"manifests/site.pp": f"$t = Timestamp().strftime('%Y')\nnotice(\"{shown} ${{t}}\")\n"})
    await compiler.node("web1.example.org")
    await compiler.settle()
    staged = await compiler.staged("web1.example.org")
    hung = await compiler.database.read(compiler.traces.find_by_id, staged.chain)
    assert hung is not None
    ((level, text),) = msgspec.json.decode(hung.chain.leaf)["logs"]
    assert (level, text.partition(": ")[2] or text) == ("notice", "lab lab <facts.clientcert> 7.23.0 false 2030")


async def test_flat_names_of_facts_are_read_and_a_change_of_their_source_leads_to_a_compile(
    compiler: Compiler, clock: ManualClock
) -> None:
    code = {"manifests/site.pp": "notify { \"${::osfamily} ${facts['operatingsystem']} ${clientversion}\": }\n"}
    await compiler.deploy(code)
    await compiler.node("web1.example.org", os={"family": "Debian", "name": "Ubuntu"})
    await compiler.settle()
    assert "Notify[Debian Ubuntu 7.23.0]" in {
        resource.ref for resource in (await compiler.body("web1.example.org")).resources
    }
    clock.advance(60)
    await compiler.node("web1.example.org", os={"family": "RedHat", "name": "Rocky"})
    await compiler.settle()
    assert "Notify[RedHat Rocky 7.23.0]" in {
        resource.ref for resource in (await compiler.body("web1.example.org")).resources
    }
