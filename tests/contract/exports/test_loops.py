"""Loops of exports under automatic releases, on both databases: they end, are named, and begin again when something else changes."""

from collections.abc import AsyncIterator

import pytest

from lab.export_site import ExportSite
from precast.services.exports.loops import MAX_ROUNDS
from precast.store.engine.database import Database
from precast.store.exports import rounds

# Each counts on from what the other one exports, as soon as the first one no longer begins with 0.
CODE = """
define ping(Integer $n) { @@pong { 'p': n => $n + 1 } notify { "ping": message => $n } }
define pong(Integer $n) {
  notify { "pong": message => $n }
  unless $facts['seed'] { @@ping { 'p': n => $n + 1 } }
}
case $facts['role'] {
  'first': { if $facts['seed'] { @@ping { 'p': n => 0 } } Pong <<| |>> }
  'second': { Ping <<| |>> }
  default: { Ping <<| |>> Pong <<| |>> }
}
"""


@pytest.fixture
async def site(database: Database) -> AsyncIterator[ExportSite]:
    made = ExportSite(database)
    await made.deploy({"manifests/site.pp": CODE})
    await made.release_automatically()
    yield made
    await made.close()


async def test_fixed_point_is_reached_without_an_operator(site: ExportSite) -> None:
    await site.join("a1", "first", seed=True)
    await site.join("b1", "second")
    await site.settle()
    assert (await site.collected("b1"), await site.collected("a1")) == ({"ping": 0}, {"pong": 1})
    assert await site.database.read(rounds.list_stopped, "", 10) == []


async def test_loop_ends_after_five_rounds_and_names_its_members(site: ExportSite) -> None:
    await site.join("a1", "first", seed=True)
    await site.join("b1", "second")
    await site.settle()
    await site.join("a1", "first", seed=False)
    compiles = await site.settle()
    (stopped,) = await site.database.read(rounds.list_stopped, "", 10)
    assert {(member.node, member.type, member.title) for member in stopped.members} == {
        ("a1", "Ping", "p"),
        ("b1", "Pong", "p"),
    }
    assert compiles == 2 * MAX_ROUNDS + 2  # the change itself, five rounds of two nodes, and the one that is held back
    held = await site.staged(stopped.node)
    served = await site.catalogs.released.read_served(stopped.node)
    assert served is not None
    assert served.digest != held.digest
    assert await site.settle() == 0


async def test_loop_goes_on_when_something_else_changes(site: ExportSite) -> None:
    await site.join("a1", "first", seed=True)
    await site.join("b1", "second")
    await site.settle()
    await site.join("a1", "first", seed=False)
    await site.settle()
    fixed = CODE.replace("@@ping { 'p': n => $n + 1 }", "@@ping { 'p': n => 7 }")
    await site.deploy({"manifests/site.pp": fixed})
    await site.settle()
    assert (await site.collected("b1"), await site.collected("a1")) == ({"ping": 7}, {"pong": 8})
    assert await site.database.read(rounds.list_stopped, "", 10) == []


async def test_node_that_is_back_at_its_served_catalog_is_not_held_back(site: ExportSite) -> None:
    await site.join("a1", "first", seed=True)
    await site.join("b1", "second")
    await site.settle()
    await site.join("a1", "first", seed=False)
    await site.settle()
    (stopped,) = await site.database.read(rounds.list_stopped, "", 10)
    await site.roll_back("b1" if stopped.node == "a1" else "a1")
    await site.settle()
    served = await site.catalogs.released.read_served(stopped.node)
    assert served is not None
    assert served.digest == (await site.staged(stopped.node)).digest
    assert await site.database.read(rounds.list_stopped, "", 10) == []


async def test_loop_of_staged_exports_ends_without_a_release(site: ExportSite) -> None:
    await site.database.write(site.environments.set_policy, "production", "manual")
    await site.set_exports("production", "staged")
    await site.join("a1", "first", seed=True)
    await site.join("b1", "second")
    await site.settle()
    await site.join("a1", "first", seed=False)
    assert await site.settle() <= 2 * MAX_ROUNDS + 2
    (stopped,) = await site.database.read(rounds.list_stopped, "", 10)
    assert (stopped.state, len(stopped.members)) == ("staged", 2)


async def test_under_manual_releases_each_round_waits_for_its_release(site: ExportSite) -> None:
    await site.database.write(site.environments.set_policy, "production", "manual")
    await site.join("a1", "first", seed=False)
    await site.join("b1", "second")
    await site.settle()
    await site.join("a1", "first", seed=True)
    await site.settle()
    await site.release()
    await site.join("a1", "first", seed=False)
    await site.settle()
    for _ in range(2 * MAX_ROUNDS):
        await site.release()
        assert await site.settle() >= 1
    assert await site.database.read(rounds.list_stopped, "", 10) == []


# Two nodes that do the same at the same time: each exports the same type that it collects.
PEERS = """
define ball(Integer $n) { unless $facts['seed'] { @@ball { $facts['role']: n => $n + 1 } } }
if $facts['seed'] { @@ball { $facts['role']: n => 0 } }
Ball <<| title != $facts['role'] |>>
"""


async def test_loop_of_nodes_that_change_together_ends_and_names_both(site: ExportSite) -> None:
    await site.deploy({"manifests/site.pp": PEERS})
    for seed in (True, False):
        await site.join("a1", "a", seed=seed)
        await site.join("b1", "b", seed=seed)
        await site.settle()
    stopped = await site.database.read(rounds.list_stopped, "", 10)
    assert stopped
    for loop in stopped:
        assert {member.node for member in loop.members} == {"a1", "b1"}
        assert {member.title for member in loop.members} == {"a", "b"}
    assert await site.settle() == 0
