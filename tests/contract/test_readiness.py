"""Who waits for a release knows when there is something to release, on both databases."""

from collections.abc import AsyncIterator
from datetime import datetime

import pytest

from lab.compiling import Compiling
from precast.base.clock import ManualClock
from precast.base.ids import CountedIds
from precast.services.compile_requests import CompileRequests
from precast.services.known_nodes import KnownNodes
from precast.services.readiness import CLOCKS, ReadinessService
from precast.services.targets import TargetService
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.audit import AuditLog
from precast.store.database import Database
from precast.store.sessions import Sessions
from precast.wire.catalogs import ReadinessBody, ReadinessView
from precast.wire.nodes import TargetsBody


class Site(Compiling):
    """Three nodes, of which one has sent no facts."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        requests = CompileRequests(
            database, self.catalogs, self.traces, self.inputs, self.work, AuditLog(database, CountedIds())
        )
        targets = TargetService(KnownNodes(database, self.fleet, Sessions(database)), database.clock)
        self.readiness = ReadinessService(database, self.fleet, self.catalogs, self.environments, targets, requests)

    async def look(self, asked_by: datetime | None = None) -> ReadinessView:
        return await self.readiness.look(ReadinessBody(TargetsBody(["web1", "web2", "mute"]), asked_by))


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    for name in ("web1", "web2", "mute"):
        await made.introduce(name)
    for name in ("web1", "web2"):
        await made.submit(name, {"os": {"family": "Debian"}}, {})
    yield made
    await made.workers.close()


MUTE = {"mute": "it has sent no facts"}
NONE = "nothing is deployed to its environment"


async def test_nodes_are_ready_when_they_were_decided_upon_with_the_newest_version(site: Site) -> None:
    now = site.database.clock.now() + CLOCKS
    assert await site.look() == ReadinessView(now, 3, 0, 0, dict.fromkeys(("web1", "web2", "mute"), NONE), 0, [])
    await site.deploy({"manifests/site.pp": "notify { 'one': }\n"})
    assert await site.look() == ReadinessView(now, 3, 0, 0, MUTE, 2, ["web1", "web2"])
    await site.settle()
    assert await site.look() == ReadinessView(now, 3, 2, 0, MUTE, 0, [])
    # Staged, but with what was there before.
    await site.deploy({"manifests/site.pp": "if $trusted['certname'] == 'web2' { fail('no') }\n"})
    assert (await site.look()).waiting == ["web1", "web2"]
    await site.settle()
    assert await site.look() == ReadinessView(now, 3, 1, 1, MUTE, 0, [])


async def test_node_that_is_to_be_decided_upon_again_is_waited_for(site: Site, clock: ManualClock) -> None:
    await site.deploy({"manifests/site.pp": "notify { 'one': }\n"})
    await site.settle()
    await site.work.enqueue(DECIDE.name, "web1", b"")
    assert (await site.look()).waiting == ["web1"]
    await site.settle()
    begun = await site.look()
    assert begun.waiting_count == 0
    # Who waits already is not held up by what is wanted now.
    clock.advance(60)
    await site.work.enqueue(DECIDE.name, "web1", b"")
    assert (await site.look(begun.asked_by)).waiting_count == 0
    assert (await site.look()).waiting == ["web1"]


async def test_node_whose_compile_was_given_up_is_not_waited_for(site: Site, clock: ManualClock) -> None:
    await site.deploy({"manifests/site.pp": "notify { 'one': }\n"})
    while await site.facts.work_off("f") + await site.decisions.work_off("d") + await site.decisions.spread("d"):
        pass
    assert (await site.look()).waiting == ["web1", "web2"]
    for _ in range(COMPILE.max_attempts):
        (claim,) = await site.work.claim(COMPILE.name, "c", limit=1, lease_s=30)
        await site.work.fail(claim, "the worker ran out of memory")
        clock.advance(3600)
    view = await site.look()
    assert (view.waiting, view.ready) == ([], 0)
    assert view.left_out["web1"] == "its compile was given up: the worker ran out of memory"
