"""Actions that are due when nodes connect, on both databases: once for each return, and only for nodes that are targets."""

import asyncio
from datetime import timedelta

from precast.services.sessions.sessions import AWAY, SessionService
from precast.store.actions.actions import delete_node_actions
from precast.store.engine.query import Transaction
from precast.store.sessions.sessions import SessionStart
from precast.wire.sessions import Hello
from tests.contract.actions.action_site import ANN, ActionSite

LATER = {"resolve": "start"}


def _nothing() -> Transaction[str | None]:
    return None
    yield  # a transaction without a statement


async def connect(site: ActionSite, node: str, boot_id: str = "boot") -> None:
    """Begin a session as a server does that tells actions about it."""
    service = SessionService(
        site.database, site.sessions, site.streams, site.audit, lambda _: _nothing(), None, site.events
    )
    await site.renew()
    await site.database.write(site.nodes.lock_or_create, node)
    start = SessionStart(node, site.name, "store", ["a"], "", "192.0.2.1", boot_id, "1")
    await service.begin(start, Hello([1], "store", ["a"], boot_id, "1"))


async def test_return_of_a_node_starts_a_job_on_it(site: ActionSite) -> None:
    action = await site.create("web*", on="return", more=LATER)
    other = await site.create("db*", on="return", more=LATER)
    assert (action.state, action.next_at) == ("active", None)
    await site.leave("web1")
    await site.advance(AWAY.total_seconds())
    await connect(site, "web1")
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert (due.state, due.cause, due.node, due.counts) == ("started", "return", "web1", {"QUEUED": 1})
    (due,) = await site.dues(other.id)
    assert (due.state, due.message) == ("skipped", "the node is not one of its targets")
    assert (await site.show(action.id)).state == "active"


async def test_interrupted_connection_is_no_return_but_a_start_of_the_machine_is(site: ActionSite) -> None:
    action = await site.create("web1", on="return", more=LATER)
    await site.leave("web1")
    await connect(site, "web1")
    await site.scheduler.handle_all()
    assert await site.dues(action.id) == []
    await site.leave("web1")
    await connect(site, "web1", "another-boot")
    await site.scheduler.handle_all()
    assert [due.node for due in await site.dues(action.id)] == ["web1"]


async def test_first_connection_is_an_enrolment(site: ActionSite) -> None:
    enrolled = await site.create("web*", on="enrolment", more=LATER)
    returned = await site.create("web*", on="return", more=LATER)
    await connect(site, "web9")
    await site.scheduler.handle_all()
    assert [(due.state, due.node) for due in await site.dues(enrolled.id)] == [("started", "web9")]
    assert await site.dues(returned.id) == []


async def test_nodes_that_return_together_share_a_job(site: ActionSite, other_site: ActionSite) -> None:
    action = await site.create("web*", on="return", more=LATER)
    for node in ("web1", "web2", "web3"):
        await site.database.write(site.events.node_returned, node)
        await site.database.write(site.events.node_returned, node)  # one that waits already is enough
    await asyncio.gather(site.scheduler.handle_all(), other_site.scheduler.handle_all())
    dues = await site.dues(action.id)
    assert [(due.node, due.state) for due in dues] == [(f"web{n}", "started") for n in (1, 2, 3)]
    jobs = [await site.service.show(job) for job in {due.job or "" for due in dues}]
    assert sum(job.nodes for job in jobs) == 3


async def test_paused_or_ended_action_is_not_due_by_a_return(site: ActionSite) -> None:
    action = await site.create("web*", on="return", until=site.now + timedelta(hours=1), more=LATER)
    await site.action_service.change(action.id, "pause", ANN)
    await site.database.write(site.events.node_returned, "web1")
    await site.action_service.change(action.id, "resume", ANN)
    assert await site.dues(action.id) == []
    await site.advance(3600)
    await site.scheduler.handle_all()
    view = await site.show(action.id)
    assert (view.state, view.message) == ("ended", "its end time has come")
    await site.database.write(site.events.node_returned, "web1")
    assert await site.dues(action.id) == []


async def test_cancel_decides_due_times_that_wait(site: ActionSite) -> None:
    action = await site.create("web*", on="return", more=LATER)
    await site.database.write(site.events.node_returned, "web1")
    await site.action_service.change(action.id, "cancel", ANN)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert (due.state, due.message) == ("skipped", "cancelled by person:ann")


async def test_purged_node_is_in_no_action(site: ActionSite) -> None:
    action = await site.create("web1,web2", at=site.now + timedelta(hours=1))
    waiting = await site.create("web*", on="return", more=LATER)
    await site.database.write(site.events.node_returned, "web1")
    await site.database.write(delete_node_actions, "web1")
    assert await site.dues(waiting.id) == []
    assert (await site.show(action.id)).node_count == 1
