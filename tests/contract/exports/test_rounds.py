"""Exported resources on both databases: what is exported with a release, what collectors see, and when they are decided upon again."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lab.export_site import CODE, ExportSite
from precast.base.clock import ManualClock
from precast.catalog.exports import ExportedResource
from precast.services.catalogs.leaf_problems import read_leaves
from precast.services.exports import answers as export_answers
from precast.services.exports.decisions import publication_of
from precast.services.exports.publishing import ExportPauses
from precast.store.engine.database import Database
from precast.store.engine.query import Query
from precast.store.exports import resources
from precast.store.issues import CONNECTION_LOST
from tests.contract.engine.test_queries import explain, run

PAUSES = ExportPauses()


@pytest.fixture
async def site(database: Database) -> AsyncIterator[ExportSite]:
    made = ExportSite(database)
    await made.deploy({"manifests/site.pp": CODE})
    yield made
    await made.close()


@pytest.fixture
async def paced(database: Database) -> AsyncIterator[ExportSite]:
    made = ExportSite(database, pauses=PAUSES)
    await made.deploy({"manifests/site.pp": CODE})
    yield made
    await made.close()


async def test_release_of_an_exporter_reaches_the_collector(site: ExportSite) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web", "10.0.0.1")
    await site.settle()
    assert await site.collected("mon1") == {}  # a staged catalog exports nothing
    await site.release("web1")
    assert await site.settle() == 1
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}
    assert await site.collected("web1") == {}


async def test_only_a_changed_result_compiles_a_collector_again(site: ExportSite) -> None:
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


async def test_release_of_changed_exports_asks_only_their_collectors(site: ExportSite) -> None:
    for name, role in (("mon1", "monitor"), ("web1", "web"), ("db1", "db")):
        await site.join(name, role)
    await site.settle()
    await site.release("web1")
    assert await site.rounds.announce("r") == 1
    claims = await site.work.claim("decide", "test", limit=10, lease_s=10)
    assert [claim.key for claim in claims] == ["mon1"]


async def test_rollback_takes_exports_back(site: ExportSite) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web", "10.0.0.1")
    await site.settle()
    await site.release()
    await site.join("web1", "web", "10.0.0.2")
    await site.settle()
    await site.release("web1")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.2"}
    await site.roll_back("web1")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}


async def test_a_collector_that_exports_too_does_not_collect_its_own_row(site: ExportSite) -> None:
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


async def test_environments_do_not_see_each_other_unless_they_want_to(site: ExportSite) -> None:
    await site.deploy({"manifests/site.pp": CODE}, "other")
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.move("web1", "other")
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


async def test_node_that_moves_exports_where_its_served_catalog_comes_from(site: ExportSite) -> None:
    await site.deploy({"manifests/site.pp": CODE.replace("at $", "now at $")}, "other")
    for name, role in (("mon1", "monitor"), ("mon2", "monitor"), ("web1", "web")):
        await site.join(name, role)
    await site.move("mon2", "other")
    await site.settle()
    await site.release("web1")
    await site.move("web1", "other")
    await site.settle()
    assert (await site.collected("mon1"), await site.collected("mon2")) == ({"web web1": "at 10.0.0.1"}, {})
    await site.release("web1")
    await site.settle()
    assert (await site.collected("mon1"), await site.collected("mon2")) == ({}, {"web web1": "now at 10.0.0.1"})


async def test_node_that_moves_and_keeps_its_catalog_moves_its_exports(site: ExportSite) -> None:
    await site.deploy({"manifests/site.pp": CODE}, "other")
    for name, role in (("mon1", "monitor"), ("mon2", "monitor"), ("web1", "web")):
        await site.join(name, role)
    await site.move("mon2", "other")
    await site.settle()
    await site.release("web1")
    await site.move("web1", "other")
    await site.settle()
    assert (await site.collected("mon1"), await site.collected("mon2")) == ({}, {"web web1": "at 10.0.0.1"})


async def test_staged_exports_are_seen_before_their_release(site: ExportSite) -> None:
    await site.set_exports("production", "staged")
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}
    await site.set_exports("production", "released")
    await site.settle()
    assert await site.collected("mon1") == {}


async def test_hundred_exporters_released_together_compile_the_collector_once(site: ExportSite) -> None:
    await site.join("mon1", "monitor")
    await asyncio.gather(*(site.join(f"web{number}", "web") for number in range(100)))
    await site.settle()
    await site.release()
    assert await site.settle() == 1
    assert len(await site.collected("mon1")) == 100


async def test_deactivated_node_exports_nothing_until_it_is_reactivated(site: ExportSite) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.settle()
    await site.release()
    await site.settle()
    await site.deactivate("web1")
    await site.settle()
    assert await site.collected("mon1") == {}
    await site.reactivate("web1")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}


async def test_release_to_a_node_that_was_just_deactivated_exports_nothing(site: ExportSite) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.settle()
    staged = await site.staged("web1")
    await site.deactivate("web1")
    await site.database.write(site.publisher.publish, [publication_of(staged)])
    await site.settle()
    assert await site.collected("mon1") == {}


async def test_two_exporters_of_one_title_are_an_error_that_names_both(site: ExportSite) -> None:
    await site.deploy({"manifests/site.pp": CODE.replace("web ${facts['networking']['hostname']}", "the web")})
    for name, role in (("mon1", "monitor"), ("web1", "web"), ("web2", "web")):
        await site.join(name, role)
    await site.settle()
    await site.release("web1", "web2")
    await site.settle()
    chain = (await site.staged("mon1")).chain
    leaf = (await site.database.read(read_leaves, site.traces, [chain]))[chain]
    assert leaf.error is not None
    assert "web1 exports it" in leaf.error
    assert "web2 exports it" in leaf.error
    await site.deactivate("web2")
    await site.settle()
    assert await site.collected("mon1") == {"the web": "at 10.0.0.1"}


async def test_changes_wait_for_further_ones_and_announcements_keep_their_distance(paced: ExportSite) -> None:
    """Between announcements a collector is compiled with what it saw at the last one, however many exporters follow."""
    site, clock = paced, paced.database.clock
    assert isinstance(clock, ManualClock)
    await site.join("mon1", "monitor")
    for number in range(4):
        await site.join(f"web{number}", "web")
    await site.settle()
    await site.release("web0")
    assert await site.settle() == 0  # the announcement waits for further changes
    clock.advance(PAUSES.wait.total_seconds())
    assert await site.settle() == 1
    await site.release("web1")
    await site.release("web2")
    clock.advance(PAUSES.wait.total_seconds())
    assert await site.settle() == 0  # too soon after the last one
    clock.advance(PAUSES.interval.total_seconds())
    assert await site.settle() == 1
    assert len(await site.collected("mon1")) == 3
    # The last announcement was of two changes: the distance doubles until one is of a single change again.
    await site.release("web3")
    clock.advance(PAUSES.interval.total_seconds())
    assert await site.settle() == 0
    clock.advance(PAUSES.interval.total_seconds())
    assert await site.settle() == 1
    await site.deactivate("web3")
    clock.advance(PAUSES.interval.total_seconds())
    assert await site.settle() == 0  # there is a catalog for this result already
    assert len(await site.collected("mon1")) == 3


async def test_decision_that_read_older_exports_than_were_announced_is_made_again(site: ExportSite) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.settle()
    real = site.database.write_alone
    is_first = True

    async def release_first(transaction: Any, *args: Any) -> Any:
        nonlocal is_first
        if is_first and transaction.__name__ == "_store":
            is_first = False
            await site.release("web1")
            await site.rounds.announce("another server")
        return await real(transaction, *args)

    await site.work.enqueue("decide", "mon1", b"")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(site.database, "write_alone", release_first)
        await site.decisions.work_off("d")
    await site.settle()
    assert await site.collected("mon1") == {"web web1": "at 10.0.0.1"}


async def test_announcer_goes_on_after_the_database_was_unavailable(
    site: ExportSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends if one of its background tasks does."""
    asked = asyncio.Queue[int]()

    async def fail(*_: object, **__: object) -> Any:
        asked.put_nowait(1)
        raise CONNECTION_LOST.error(location="postgresql://x", reason="Connection refused")

    monkeypatch.setattr(site.work, "claim", fail)
    monkeypatch.setattr("precast.services.exports.collecting.POLL_S", 0.0)
    announcing = asyncio.create_task(site.rounds.run("r"))
    async with asyncio.timeout(10):
        await asked.get()
        await asked.get()
    announcing.cancel()
    await asyncio.wait([announcing])
    assert announcing.cancelled()


async def test_too_many_exports_of_a_type_are_a_clear_error(site: ExportSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_answers, "MAX_EXPORTS", 2)
    await site.join("mon1", "monitor")
    for number in range(3):
        await site.join(f"web{number}", "web")
    await site.settle()
    await site.release()
    await site.settle()
    (item,) = [item for item in await site.work.list_waiting() if item.key == "mon1"]
    assert item.last_error is not None
    assert "the nodes of production export more than 2 of Notify, too many to collect" in item.last_error


async def test_readers_of_exports_use_an_index(site: ExportSite) -> None:
    """A look-up of one node or one type does not read the exports of all."""
    names = [f"web{number}" for number in range(60)]
    for name in names:
        await site.introduce(name)
    rows = [
        resources.make_row("production", ExportedResource(names[number % 60], f"Type{number % 299}", f"title {number}"))
        for number in range(3_000)
    ]
    await site.database.write(resources.replace, "released", (), rows)
    await site.database.write(run, Query("test.analyze", "ANALYZE"), {})
    for query in (resources.OF_NODES, resources.OF_TYPE, resources.ENVIRONMENTS_OF):
        values = {"nodes": '["web9"]', "state": "released", "type": "Type1", "environment": "production", "limit": 9}
        used = {name: values[name] for name in query.parameters}
        plan = str([list(row) for row in await site.database.write(run, explain(query, site.database.dialect), used)])
        assert "Seq Scan" not in plan
        assert "SCAN exported_resource" not in plan
