"""Readiness of nodes for a release, on both databases."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

import pytest

from lab.compile_services import CompileServices
from precast.base.clock import ManualClock
from precast.services.compile.readiness import CLOCK_SKEW, NAMES_SHOWN, ReadinessService
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.engine.database import Database
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import ReadinessBody, ReadinessView
from precast.wire.nodes.bodies import TargetsBody


class Site(CompileServices):
    """Three nodes, of which one has sent no facts."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        targets = TargetService(KnownNodes(database, self.fleet, Sessions(database)), database.clock)
        self.readiness = ReadinessService(database, self.fleet, self.catalogs, self.environments, targets, self.traces)

    async def look(
        self, asked_by: datetime | None = None, names: Sequence[str] = ("web1", "web2", "mute")
    ) -> ReadinessView:
        return await self.readiness.check(ReadinessBody(TargetsBody(list(names)), asked_by))


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    for name in ("web1", "web2", "mute"):
        await made.introduce(name)
    for name in ("web1", "web2"):
        await made.submit(name, {"os": {"family": "Debian"}}, {})
    yield made
    await made.close()


MUTE = {"it has sent no facts": 1}
NONE = "nothing is deployed to its environment"
GIVEN_UP = "its compile was given up"


async def test_nodes_are_ready_when_they_were_decided_upon_with_the_newest_version(site: Site) -> None:
    now = site.database.clock.now() + CLOCK_SKEW
    assert await site.look() == ReadinessView(now, 3, 0, 0, {NONE: 3}, 0, [])
    await site.deploy({"manifests/site.pp": "notify { 'one': }\n"})
    assert await site.look() == ReadinessView(now, 3, 0, 0, MUTE, 2, ["web1", "web2"])
    await site.settle()
    assert await site.look() == ReadinessView(now, 3, 2, 0, MUTE, 0, [])
    # The nodes are staged, but with the earlier version.
    await site.deploy({"manifests/site.pp": "if $trusted['certname'] == 'web2' { fail('no') }\n"})
    assert (await site.look()).waiting == ["web1", "web2"]
    await site.settle()
    assert await site.look() == ReadinessView(now, 3, 1, 1, MUTE, 0, [])


async def test_node_with_a_requested_decision_is_waiting_until_the_decision_is_made(
    site: Site, clock: ManualClock
) -> None:
    await site.deploy({"manifests/site.pp": "notify { $facts['os']['family']: }\n"})
    await site.settle()
    begun = await site.look()
    assert begun.waiting_count == 0
    clock.advance(1)
    await site.submit("web1", {"os": {"family": "RedHat"}}, {})
    assert (await site.look()).waiting == ["web1"]
    # A worker has claimed the decision.
    (claim,) = await site.work.claim(DECIDE.name, "d", limit=1, lease_s=30)
    assert (await site.look()).waiting == ["web1"]
    await site.work.give_back(claim)
    # The decision waits for a compile, for longer than clocks may differ.
    await site.decisions.work_off("d")
    clock.advance(60)
    assert (await site.look(begun.asked_by)).waiting == ["web1"]
    # The compile is done, and the node has to be decided upon again.
    await site.compiler.work_off("c")
    assert (await site.look(begun.asked_by)).waiting == ["web1"]
    await site.settle()
    assert (await site.look(begun.asked_by)).waiting_count == 0
    # A caller that waits since then is done, and does not wait for a decision requested later.
    clock.advance(1)
    await site.submit("web1", {"os": {"family": "Suse"}}, {})
    assert (await site.look(begun.asked_by)).waiting_count == 0
    assert (await site.look()).waiting == ["web1"]


async def test_node_with_a_delayed_decision_counts_as_ready(site: Site, clock: ManualClock) -> None:
    await site.deploy({"manifests/site.pp": "notify { 'one': }\n"})
    await site.settle()
    await site.work.enqueue(DECIDE.name, "web1", b"", due_at=clock.now() + timedelta(hours=1))
    assert (await site.look()).waiting_count == 0


async def give_up(site: Site, clock: ManualClock) -> None:
    """Request the compile by a decision, and let each attempt fail."""
    while await site.facts.work_off("f") + await site.decisions.work_off("d") + await site.decisions.spread("d"):
        pass
    for _ in range(COMPILE.max_attempts):
        (claim,) = await site.work.claim(COMPILE.name, "c", limit=1, lease_s=30)
        await site.work.fail(claim, "the worker ran out of memory")
        clock.advance(3600)


async def test_nodes_whose_compile_was_given_up_are_left_out(site: Site, clock: ManualClock) -> None:
    others = [f"app{number}" for number in range(NAMES_SHOWN)]
    for name in others:
        await site.introduce(name)
        await site.submit(name, {"os": {"family": "Debian"}}, {})
    await site.deploy({"manifests/site.pp": "notify { 'one': }\n"})
    view = await site.look(names=["web1", "web2", *others])
    assert (view.waiting_count, len(view.waiting)) == (NAMES_SHOWN + 2, NAMES_SHOWN)
    await give_up(site, clock)
    view = await site.look(names=["web1", "web2", *others])
    assert (view.waiting_count, view.ready, view.left_out) == (0, 0, {GIVEN_UP: NAMES_SHOWN + 2})


async def test_node_whose_compile_was_given_up_is_waiting_again_after_a_deploy(site: Site, clock: ManualClock) -> None:
    await site.deploy({"manifests/site.pp": "notify { 'one': }\n"})
    await give_up(site, clock)
    assert (await site.look()).left_out == MUTE | {GIVEN_UP: 2}
    await site.deploy({"manifests/site.pp": "notify { 'two': }\n"})
    # The decisions of the nodes are not requested yet.
    assert (await site.look()).waiting == ["web1", "web2"]
    await site.decisions.spread("d")
    assert (await site.look()).waiting == ["web1", "web2"]
    await site.settle()
    assert (await site.look()).ready == 2
