"""Standing values on both databases: who may promise and read a key, what changes a value, and who is told."""

import pytest

from lab.future_site import FutureSite, Recorder, show
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.futures.retention import FutureRetention
from precast.wire.futures import NewFuture
from precast.wire.sessions import Subscribe

KEY = "db/endpoint"


async def test_value_is_stored_and_delivered_to_a_node_that_needs_it(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    waiting = await site.subscribe("web1")
    assert [(message.values, message.is_last, message.error) for message in waiting.messages] == [([], True, "")]
    await site.promise("db1", KEY, {"host": "192.0.2.7"})
    await waiting.until({f"{KEY}@db1": {"host": "192.0.2.7"}})
    assert await site.standing() == {f"{KEY}@db1": {"host": "192.0.2.7"}}
    assert (await site.subscribe("web1")).shown() == {f"{KEY}@db1": {"host": "192.0.2.7"}}


async def test_equal_value_changes_nothing_and_another_one_is_delivered(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    waiting = await site.subscribe("web1")
    for value in ("a", "a", "b"):
        await site.promise("db1", KEY, value)
        await waiting.until({f"{KEY}@db1": value})
    sent = [value for message in waiting.messages for value in message.values]
    assert [show(value) for value in sent] == ["a", "b"]
    assert sent[0].number < sent[1].number


async def test_node_whose_catalog_does_not_promise_a_key_is_refused(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    await site.promise("web1", KEY, "mine")
    await site.promise("db1", KEY, "x", catalog="0" * 64)
    await site.promise("db1", "other", "x")
    assert await site.standing() == {}
    assert await site.refusals() == ["no catalog of the node promises it"] * 3


async def test_node_is_answered_alike_for_a_catalog_that_is_absent_and_one_of_another_node(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    own = await site.release("web1", needs=[KEY])
    await site.release("web2", needs=["other"])
    foreign, absent = Recorder("web2"), Recorder("web2")
    await site.hub.subscribe(foreign, Subscribe(own))
    await site.hub.subscribe(absent, Subscribe("0" * 64))
    (one,), (two,) = foreign.messages, absent.messages
    assert one.error == two.error != ""
    assert not one.values
    await site.promise("db1", KEY, "x")
    assert len(foreign.messages) == 1
    assert site.hub.count == 0


async def test_older_run_of_the_same_store_is_refused_and_another_store_is_not(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.promise("db1", KEY, "second", fence=7)
    await site.promise("db1", KEY, "first", fence=6)
    assert await site.standing() == {f"{KEY}@db1": "second"}
    assert await site.refusals() == ["a later run of the node has promised it"]
    await site.promise("db1", KEY, "reinstalled", fence=1, instance="new-store")
    assert await site.standing() == {f"{KEY}@db1": "reinstalled"}


async def test_promise_for_the_run_leaves_no_standing_value(site: FutureSite) -> None:
    await site.release("db1", {KEY: "run"})
    await site.promise("db1", KEY, "x")
    assert await site.standing() == {}


async def test_expired_value_is_not_delivered_and_is_shown_as_expired(site: FutureSite, clock: ManualClock) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    await site.promise("db1", KEY, "x", ttl_s=60.0)
    (value,) = (await site.subscribe("web1")).values.values()
    assert value.left_s == 60.0
    assert value.expires_at is not None
    clock.advance(60.0)
    assert (await site.subscribe("web1")).shown() == {f"{KEY}@db1": "failed: its value has expired"}
    (row,) = await site.values.list_page("production", ("", ""))
    assert (row.is_expired, row.value) == (True, None)


async def test_deleted_value_does_not_come_back_when_the_clock_is_set_back(
    site: FutureSite, clock: ManualClock
) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    await site.promise("db1", KEY, "x", ttl_s=60.0)
    retention = FutureRetention(site.database, site.guard)
    clock.advance(61.0)
    assert await retention.delete_expired() == 1
    clock.set_back(50.0)
    assert (await site.subscribe("web1")).shown() == {}


async def test_value_that_is_promised_again_in_time_lives_longer(site: FutureSite, clock: ManualClock) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    await site.promise("db1", KEY, "x", ttl_s=60.0)
    waiting = await site.subscribe("web1")
    (before,) = waiting.values.values()
    clock.advance(50.0)
    await site.promise("db1", KEY, "x", ttl_s=60.0)
    while waiting.values[KEY, "db1"].number == before.number:
        waiting.arrived.clear()
        await waiting.arrived.wait()
    assert waiting.values[KEY, "db1"].left_s == 60.0


async def test_sensitive_value_is_sealed_shown_to_nobody_and_delivered(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    await site.promise("db1", KEY, "hunter22", is_sensitive=True)
    (value,) = (await site.subscribe("web1")).values.values()
    assert (show(value), value.is_sensitive) == ("hunter22", True)
    (row,) = await site.values.get("production", KEY)
    assert (row.value, row.is_sensitive) == (None, True)
    number = row.number
    await site.promise("db1", KEY, "hunter22", is_sensitive=True)
    (row,) = await site.values.get("production", KEY)
    assert row.number == number
    await site.promise("db1", KEY, "hunter23", is_sensitive=True)
    (row,) = await site.values.get("production", KEY)
    assert row.number > number


async def test_value_ends_when_the_released_catalog_promises_it_no_more(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    await site.promise("db1", KEY, "x")
    waiting = await site.subscribe("web1")
    await site.release("db1", ["other"])
    await waiting.until({f"{KEY}@db1": "failed: it has no value any more"})
    assert await site.standing() == {}


async def test_value_moves_with_its_node_to_another_environment(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.promise("db1", KEY, "x")
    await site.release("db1", [KEY], environment="staging")
    assert await site.standing() == {}
    await site.promise("db1", KEY, "y")
    assert await site.standing("staging") == {f"{KEY}@db1": "y"}


async def test_subscription_ends_when_another_catalog_is_released(site: FutureSite, clock: ManualClock) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    waiting = await site.subscribe("web1")
    await site.release("web1", needs=["other"])
    clock.advance(31.0)
    await site.promise("db1", KEY, "secret for others")
    while not waiting.messages[-1].error:
        waiting.arrived.clear()
        await waiting.arrived.wait()
    assert waiting.shown() == {}


async def test_lagging_node_is_sent_the_newest_state_when_it_reads_again(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    waiting = await site.subscribe("web1")
    waiting.reads.clear()
    for number in range(5):
        await site.promise("db1", KEY, number)
    waiting.reads.set()
    await waiting.until({f"{KEY}@db1": 4})


async def test_value_of_one_server_reaches_a_node_of_another(site: FutureSite, other: FutureSite) -> None:
    await site.release("db1", [KEY])
    other.digests["web1"] = await site.release("web1", needs=[KEY])
    waiting = await other.subscribe("web1")
    await site.promise("db1", KEY, "x")
    await waiting.until({f"{KEY}@db1": "x"})


async def test_value_of_one_server_is_found_by_polling_if_its_wake_up_is_lost(
    site: FutureSite, other: FutureSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.release("db1", [KEY])
    other.digests["web1"] = await site.release("web1", needs=[KEY])
    waiting = await other.subscribe("web1")
    monkeypatch.setattr(site.database.wakeups, "publish", lambda topics: None)
    await site.promise("db1", KEY, "x")
    await waiting.until({f"{KEY}@db1": "x"})


async def test_person_puts_and_removes_a_value_that_a_run_of_the_node_replaces(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    waiting = await site.subscribe("web1")
    await site.values.put("production", NewFuture(KEY, "by hand", "db1"), "person:ann")
    await waiting.until({f"{KEY}@db1": "by hand"})
    await site.promise("db1", KEY, "by run")
    await waiting.until({f"{KEY}@db1": "by run"})
    await site.values.put("production", NewFuture(KEY, "spare"), "person:ann")
    await waiting.until({f"{KEY}@": "spare", f"{KEY}@db1": "by run"})
    assert [row.value for row in await site.values.get("production", KEY)] == ["spare", "by run"]
    await site.values.put("production", NewFuture(KEY, is_removal=True), "person:ann")
    await waiting.until({f"{KEY}@": "failed: it has no value any more", f"{KEY}@db1": "by run"})
    with pytest.raises(PrecastError, match="has no value in production"):
        await site.values.put("production", NewFuture(KEY, is_removal=True), "person:ann")
    actions = [entry.action for entry in await site.audit.read_latest() if entry.actor == "person:ann"]
    assert actions[:3] == ["future.remove", "future.put", "future.put"]


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb"])
async def test_value_of_an_impossible_key_is_refused(site: FutureSite, key: str) -> None:
    with pytest.raises(PrecastError) as error:
        await site.values.get("production", key)
    assert error.value.code == "FUTURE-003"


async def test_value_that_is_too_large_is_refused(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    with pytest.raises(PrecastError) as error:
        site.promised("db1", KEY, "x" * 70_000)
    assert error.value.code == "FUTURE-001"


async def test_changes_of_a_key_are_waited_for(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    before = await site.values.changes("production", KEY, 0, 0.0)
    assert (before.values, before.last) == ([], 0)
    await site.promise("db1", KEY, "x")
    after = await site.values.changes("production", KEY, before.last, 5.0)
    assert [row.value for row in after.values] == ["x"]
