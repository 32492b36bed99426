"""Exported resources on both databases: what is exported with a release, what collectors see, and when they are decided upon again."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from lab.compile_services import CompileServices
from precast.base.clock import ManualClock, SystemClock
from precast.base.ids import TimeOrderedIds
from precast.services.exports.settings import ExportSettings
from precast.services.work_kinds import DECIDE
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.nodes.nodes import NodeClassification
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.nodes.bodies import TargetsBody

ANN = "person:ann"
EVERYONE = TargetsBody(all=True)
CODE = """
if $facts['role'] == 'web' {
  @@notify { "web ${facts['networking']['hostname']}": message => "at ${facts['networking']['ip']}", tag => 'web' }
}
if $facts['role'] == 'monitor' {
  Notify <<| tag == 'web' |>>
}
"""


class Site(CompileServices):
    """Web nodes that export, and monitors that collect."""

    async def join(self, name: str, role: str, ip: str = "10.0.0.1") -> None:
        assert isinstance(self.database.clock, ManualClock)
        self.database.clock.advance(60)  # facts that change at once again lead to a decision later
        await self.introduce(name)
        await self.submit(name, {"role": role, "networking": {"hostname": name, "ip": ip}}, {})

    async def release(self, *names: str) -> None:
        await self.releases.release(ReleaseBody(TargetsBody(list(names)) if names else EVERYONE), ANN)

    def classify(self, name: str, environment: str) -> Transaction[None]:
        yield from self.fleet.set_classification(name, NodeClassification(environment, None, True, {}, {}))
        yield from self.work.enqueue_item(DECIDE.name, name, b"")

    async def set_exports(self, environment: str, exports: str) -> None:
        settings = ExportSettings(
            self.database, self.environments, self.work, AuditLog(self.database, TimeOrderedIds(SystemClock()))
        )
        await settings.set(environment, exports, ANN)

    async def collected(self, node: str) -> dict[str, Any]:
        """The notify resources in the staged catalog of a node, with their messages."""
        staged = await self.staged(node)
        assert staged.skeleton is not None, "it compiles"
        body = msgspec.json.decode(await self.skeletons.fill(staged.skeleton, staged.fill))
        return {
            resource["title"]: resource["parameters"].get("message")
            for resource in body["resources"]
            if resource["type"] == "Notify" and not resource.get("virtual")
        }


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    await made.deploy({"manifests/site.pp": CODE})
    yield made
    await made.close()


async def test_release_of_an_exporter_reaches_the_collector(site: Site) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web", "10.0.0.1")
    await site.settle()
    assert await site.collected("mon1") == {}  # a staged catalog exports nothing
    await site.release("web1")
    assert await site.settle() == 1
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}
    assert await site.collected("web1") == {}


async def test_only_a_changed_result_compiles_a_collector_again(site: Site) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.settle()
    await site.release()
    await site.settle()
    await site.join("web2", "web")
    await site.settle()
    retagged = CODE.replace("tag => 'web'", "tag => ['web', 'new']")
    await site.deploy({"manifests/site.pp": retagged})
    await site.settle()
    await site.release("web1", "web2")
    assert await site.settle() == 1
    await site.release()
    assert await site.settle() == 0
    # Another tag that nobody asks for, and another type.
    await site.deploy({"manifests/site.pp": f"{retagged}\n@@notify {{ 'other': tag => 'x' }} @@file {{ '/x': }}"})
    await site.settle()
    await site.release()
    assert await site.settle() == 0
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1", "web web2": "at 10.0.0.1"}


async def test_release_of_changed_exports_asks_only_their_collectors(site: Site) -> None:
    for name, role in (("mon1", "monitor"), ("web1", "web"), ("db1", "db")):
        await site.join(name, role)
    await site.settle()
    await site.release("web1")
    assert await site.rounds.announce("r") == 1
    claims = await site.work.claim("decide", "test", limit=10, lease_s=10)
    assert [claim.key for claim in claims] == ["mon1"]


async def test_rollback_takes_exports_back(site: Site) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web", "10.0.0.1")
    await site.settle()
    await site.release()
    await site.join("web1", "web", "10.0.0.2")
    await site.settle()
    await site.release("web1")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.2"}
    await site.releases.rollback(RollbackBody(TargetsBody(["web1"])), ANN)
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}


async def test_a_collector_that_exports_too_does_not_collect_its_own_row(site: Site) -> None:
    """Its own exports come from its own compile: a changed row of its own is not a changed answer."""
    both = (
        "@@notify { \"of ${facts['networking']['hostname']}\": message => $facts['networking']['ip'] } Notify <<| |>>"
    )
    await site.deploy({"manifests/site.pp": both})
    await site.join("a1", "both", "10.0.0.1")
    await site.join("b1", "both", "10.0.0.2")
    await site.settle()
    assert await site.collected("a1") == {"of a1": "10.0.0.1"}
    await site.release("a1")
    await site.settle()
    assert await site.collected("a1") == {"of a1": "10.0.0.1"}
    assert await site.collected("b1") == {"of a1": "10.0.0.1", "of b1": "10.0.0.2"}


async def test_environments_do_not_see_each_other_unless_they_want_to(site: Site) -> None:
    await site.deploy({"manifests/site.pp": CODE}, "other")
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.database.write(site.classify, "web1", "other")
    await site.settle()
    await site.release("web1")
    await site.settle()
    assert await site.collected("mon1") == {}
    await site.set_exports("production", "everywhere")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}
    await site.join("web1", "web", "10.0.0.9")
    await site.settle()
    await site.release("web1")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.9"}


async def test_node_that_moves_exports_where_its_served_catalog_comes_from(site: Site) -> None:
    await site.deploy({"manifests/site.pp": CODE.replace("at $", "now at $")}, "other")
    for name, role in (("mon1", "monitor"), ("mon2", "monitor"), ("web1", "web")):
        await site.join(name, role)
    await site.database.write(site.classify, "mon2", "other")
    await site.settle()
    await site.release("web1")
    await site.database.write(site.classify, "web1", "other")
    await site.settle()
    assert (await site.collected("mon1"), await site.collected("mon2")) == ({"web web1": "at 10.0.0.1"}, {})
    await site.release("web1")
    await site.settle()
    assert (await site.collected("mon1"), await site.collected("mon2")) == ({}, {"web web1": "now at 10.0.0.1"})


async def test_node_that_moves_and_keeps_its_catalog_moves_its_exports(site: Site) -> None:
    await site.deploy({"manifests/site.pp": CODE}, "other")
    for name, role in (("mon1", "monitor"), ("mon2", "monitor"), ("web1", "web")):
        await site.join(name, role)
    await site.database.write(site.classify, "mon2", "other")
    await site.settle()
    await site.release("web1")
    await site.database.write(site.classify, "web1", "other")
    await site.settle()
    assert (await site.collected("mon1"), await site.collected("mon2")) == ({}, {"web web1": "at 10.0.0.1"})


async def test_staged_exports_are_seen_before_their_release(site: Site) -> None:
    await site.set_exports("production", "staged")
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}
    await site.set_exports("production", "released")
    await site.settle()
    assert await site.collected("mon1") == {}


async def test_hundred_exporters_released_together_compile_the_collector_once(site: Site) -> None:
    await site.join("mon1", "monitor")
    await asyncio.gather(*(site.join(f"web{number}", "web") for number in range(100)))
    await site.settle()
    await site.release()
    assert await site.settle() == 1
    assert len(await site.collected("mon1")) == 100
