"""The work queue on both databases: coalescing, leases, fences, retries, dead letters, fairness, bounds."""

import asyncio
from datetime import timedelta

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import InputError, InternalError, NotFoundError, UnavailableError
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.queue.kinds import LANE_STEPS, MAX_PAYLOAD_BYTES, Claim, Failure, WorkKind
from precast.store.queue.queue import WorkQueue, topic
from precast.store.sessions.streams import Streams

COMPILE = WorkKind("compile", max_items=50, max_attempts=3, max_dead=2, pause_first_s=10, pause_cap_s=100)


@pytest.fixture
def queue(database: Database) -> WorkQueue:
    return WorkQueue(database, [COMPILE, WorkKind("other")])


@pytest.fixture
def other_queue(other_database: Database) -> WorkQueue:
    return WorkQueue(other_database, [COMPILE])


async def claim_one(queue: WorkQueue, owner: str = "worker", lease_s: float = 60) -> Claim:
    (claim,) = await queue.claim("compile", owner, limit=1, lease_s=lease_s)
    return claim


async def claimed_keys(queue: WorkQueue, limit: int = 100) -> list[str]:
    return [claim.key for claim in await queue.claim("compile", "worker", limit=limit, lease_s=60)]


async def test_enqueue_twice_is_one_item_with_the_newest_payload(queue: WorkQueue) -> None:
    assert await queue.enqueue("compile", "node", b"old")
    assert not await queue.enqueue("compile", "node", b"new")
    claim = await claim_one(queue)
    assert (claim.payload, claim.attempt) == (b"new", 1)
    assert await queue.claim("compile", "worker", limit=10, lease_s=60) == []


async def test_same_key_of_another_kind_is_another_item(queue: WorkQueue) -> None:
    await queue.enqueue("compile", "node", b"")
    assert await queue.enqueue("other", "node", b"")
    assert await claimed_keys(queue) == ["node"]


async def test_completed_item_is_removed(queue: WorkQueue) -> None:
    await queue.enqueue("compile", "node", b"")
    assert await queue.complete(await claim_one(queue))
    assert await queue.list_waiting() == []


async def test_item_enqueued_while_claimed_is_claimable_again_with_the_new_payload(queue: WorkQueue) -> None:
    await queue.enqueue("compile", "node", b"1")
    claim = await claim_one(queue)
    assert not await queue.enqueue("compile", "node", b"2")
    assert await queue.claim("compile", "other", limit=1, lease_s=60) == []
    assert await queue.complete(claim)
    assert (await claim_one(queue)).payload == b"2"


async def test_expired_lease_goes_to_another_worker_and_the_first_is_fenced_off(
    queue: WorkQueue, other_queue: WorkQueue, clock: ManualClock
) -> None:
    await queue.enqueue("compile", "node", b"")
    first = await claim_one(queue, "first", lease_s=60)
    clock.advance(59)
    assert await other_queue.claim("compile", "second", limit=1, lease_s=60) == []
    clock.advance(1)
    second = await claim_one(other_queue, "second")
    assert second.fence > first.fence
    assert not await queue.extend(first, 60)
    assert not await queue.complete(first)
    assert await queue.fail(first, "late") is Failure.LOST
    assert not await queue.give_back(first)
    assert await other_queue.complete(second)


async def test_fence_grows_even_after_the_item_was_completed_and_enqueued_again(queue: WorkQueue) -> None:
    fences = []
    for _ in range(3):
        await queue.enqueue("compile", "node", b"")
        claim = await claim_one(queue)
        fences.append(claim.fence)
        assert await queue.complete(claim)
        assert not await queue.complete(claim)
    assert fences == sorted(set(fences))


async def test_extended_lease_keeps_the_item(queue: WorkQueue, clock: ManualClock) -> None:
    await queue.enqueue("compile", "node", b"")
    claim = await claim_one(queue, lease_s=60)
    clock.advance(50)
    assert await queue.extend(claim, 60)
    clock.advance(50)
    assert await queue.claim("compile", "other", limit=1, lease_s=60) == []
    assert await queue.complete(claim)


async def test_late_extension_succeeds_if_the_item_was_not_claimed_meanwhile(
    queue: WorkQueue, clock: ManualClock
) -> None:
    await queue.enqueue("compile", "node", b"")
    claim = await claim_one(queue, lease_s=60)
    clock.advance(1000)
    assert await queue.extend(claim, 60)
    assert await queue.claim("compile", "other", limit=1, lease_s=60) == []


async def test_item_given_back_is_claimable_at_once_and_its_attempt_not_counted(queue: WorkQueue) -> None:
    await queue.enqueue("compile", "node", b"")
    assert await queue.give_back(await claim_one(queue))
    assert (await claim_one(queue)).attempt == 1


async def test_failed_item_backs_off_longer_each_time_and_then_is_dead(queue: WorkQueue, clock: ManualClock) -> None:
    await queue.enqueue("compile", "node", b"body", lane="lane")
    for attempt in (1, 2):
        claim = await claim_one(queue)
        assert claim.attempt == attempt
        assert await queue.fail(claim, f"error {attempt}") is Failure.RETRIED
        pause_s = COMPILE.pause_s("node", attempt)
        assert 0.75 * 10 * attempt <= pause_s <= 10 * attempt
        clock.advance(pause_s - 0.01)
        assert await queue.claim("compile", "worker", limit=1, lease_s=60) == []
        clock.advance(0.02)
    assert await queue.fail(await claim_one(queue), "error 3") is Failure.DEAD
    assert await queue.list_waiting() == []
    (letter,) = await queue.list_dead()
    assert (letter.key, letter.lane, letter.payload, letter.attempts) == ("node", "lane", b"body", 3)
    assert (letter.last_error, letter.died_at) == ("error 3", clock.now())


async def test_item_that_loses_its_worker_in_every_attempt_is_dead(queue: WorkQueue, clock: ManualClock) -> None:
    await queue.enqueue("compile", "poison", b"")
    await queue.enqueue("other", "healthy", b"")
    for attempt in (1, 2, 3):
        assert (await claim_one(queue)).attempt == attempt
        clock.advance(61)
    assert await queue.claim("compile", "worker", limit=1, lease_s=60) == []
    (letter,) = await queue.list_dead()
    assert (letter.key, letter.last_error) == ("poison", "its worker was lost in every attempt")


async def test_newer_payload_resets_the_attempts(queue: WorkQueue, clock: ManualClock) -> None:
    await queue.enqueue("compile", "node", b"bad")
    for _ in range(2):
        await queue.fail(await claim_one(queue), "bad")
        clock.advance(100)
    claim = await claim_one(queue)
    await queue.enqueue("compile", "node", b"good")
    assert await queue.fail(claim, "bad") is Failure.RETRIED
    clock.advance(100)
    assert ((claim := await claim_one(queue)).attempt, claim.payload) == (1, b"good")


async def test_newer_payload_does_not_wait_for_the_backoff_of_the_old(queue: WorkQueue) -> None:
    await queue.enqueue("compile", "node", b"bad")
    await queue.fail(await claim_one(queue), "bad")
    await queue.enqueue("compile", "node", b"good")
    assert (await claim_one(queue)).payload == b"good"


async def test_requeued_dead_letter_is_claimable_again(queue: WorkQueue, clock: ManualClock) -> None:
    await make_dead(queue, clock, "node")
    assert await queue.requeue("compile", "node")
    assert await queue.list_dead() == []
    assert (await claim_one(queue)).payload == b"node"


async def test_requeue_of_a_waiting_key_keeps_the_newer_item(queue: WorkQueue, clock: ManualClock) -> None:
    await make_dead(queue, clock, "node")
    await queue.enqueue("compile", "node", b"newer")
    assert not await queue.requeue("compile", "node")
    assert await queue.list_dead() == []
    assert (await claim_one(queue)).payload == b"newer"


async def test_requeue_of_an_unknown_letter_is_not_found(queue: WorkQueue) -> None:
    with pytest.raises(NotFoundError) as caught:
        await queue.requeue("compile", "nobody")
    assert caught.value.code == "WORK-004"


async def test_later_success_removes_the_dead_letter(queue: WorkQueue, clock: ManualClock) -> None:
    await make_dead(queue, clock, "node")
    await queue.enqueue("compile", "node", b"good")
    await queue.complete(await claim_one(queue))
    assert await queue.list_dead() == []


async def test_full_dead_letters_keep_the_item_in_the_queue_at_the_slowest_rate(
    queue: WorkQueue, clock: ManualClock
) -> None:
    for key in ("a", "b"):
        await make_dead(queue, clock, key)
    await queue.enqueue("compile", "c", b"")
    for _ in range(2):
        await queue.fail(await claim_one(queue), "no")
        clock.advance(100)
    assert await queue.fail(await claim_one(queue), "no") is Failure.RETRIED
    assert [letter.key for letter in await queue.list_dead()] == ["a", "b"]
    (item,) = await queue.list_waiting()
    assert (item.key, item.last_error, item.ready_at) == ("c", "no", clock.now() + timedelta(seconds=100))
    clock.advance(100)
    assert (await claim_one(queue)).key == "c"


async def test_item_is_not_claimed_before_it_is_due(queue: WorkQueue, clock: ManualClock) -> None:
    await queue.enqueue("compile", "later", b"", due_at=clock.now() + timedelta(seconds=30))
    assert await claimed_keys(queue) == []
    clock.advance(30)
    assert await claimed_keys(queue) == ["later"]


async def test_enqueuing_again_makes_the_item_due_earlier_never_later(queue: WorkQueue, clock: ManualClock) -> None:
    await queue.enqueue("compile", "node", b"", due_at=clock.now() + timedelta(seconds=30))
    await queue.enqueue("compile", "node", b"", due_at=clock.now() + timedelta(seconds=90))
    await queue.enqueue("compile", "node", b"", due_at=clock.now() + timedelta(seconds=10))
    clock.advance(10)
    assert await claimed_keys(queue) == ["node"]


async def test_enqueuing_while_claimed_does_not_shorten_the_lease(queue: WorkQueue, clock: ManualClock) -> None:
    await queue.enqueue("compile", "node", b"1")
    claim = await claim_one(queue, lease_s=60)
    await queue.enqueue("compile", "node", b"2")
    clock.advance(59)
    assert await queue.claim("compile", "other", limit=1, lease_s=60) == []
    assert await queue.complete(claim)


async def test_busy_lane_does_not_delay_another_lanes_single_item(queue: WorkQueue) -> None:
    for number in range(20):
        await queue.enqueue("compile", f"busy{number:02}", b"", lane="busy")
    await queue.enqueue("compile", "single", b"", lane="quiet")
    assert await claimed_keys(queue, limit=2) == ["busy00", "single"]


async def test_single_item_is_next_however_slow_the_workers_are(queue: WorkQueue, clock: ManualClock) -> None:
    for number in range(20):
        await queue.enqueue("compile", f"busy{number:02}", b"", lane="busy")
    for expected in ("busy00", "busy01", "busy02"):
        claim = await claim_one(queue, lease_s=1000)
        assert claim.key == expected
        clock.advance(500)
        await queue.complete(claim)
    held = await claim_one(queue, lease_s=1000)
    await queue.enqueue("compile", "single", b"", lane="quiet")
    assert (held.key, await claimed_keys(queue, limit=2)) == ("busy03", ["single", "busy04"])


async def test_two_busy_lanes_take_turns(queue: WorkQueue) -> None:
    for number in range(5):
        await queue.enqueue("compile", f"first{number}", b"", lane="first")
    for number in range(5):
        await queue.enqueue("compile", f"second{number}", b"", lane="second")
    keys = await claimed_keys(queue)
    assert [key[:-1] for key in keys] == ["first", "second"] * 5


async def test_new_lanes_do_not_overtake_for_ever(queue: WorkQueue) -> None:
    """After every claim an item of a new lane is enqueued, and still the busy lane's items are claimed, in order."""
    for number in range(4):
        await queue.enqueue("compile", f"busy{number}", b"", lane="busy")
    order: list[str] = []
    while sum(key.startswith("busy") for key in order) < 4:
        assert len(order) < 10 * LANE_STEPS, "a busy lane starves"
        await queue.enqueue("compile", f"new{len(order):02}", b"", lane=f"lane{len(order)}")
        claim = await claim_one(queue)
        await queue.complete(claim)
        order.append(claim.key)
    assert [key for key in order if key.startswith("busy")] == ["busy0", "busy1", "busy2", "busy3"]


async def test_items_of_one_lane_keep_their_order(queue: WorkQueue) -> None:
    keys = [f"{number * 7 % 20:02}" for number in range(20)]
    for key in keys:
        await queue.enqueue("compile", key, b"")
    assert await claimed_keys(queue) == keys


async def test_full_queue_refuses_new_keys_but_not_known_ones(queue: WorkQueue) -> None:
    for number in range(50):
        await queue.enqueue("compile", f"{number:02}", b"")
    with pytest.raises(UnavailableError) as caught:
        await queue.enqueue("compile", "one more", b"")
    assert caught.value.code == "WORK-002"
    assert not await queue.enqueue("compile", "07", b"newer")
    assert await queue.enqueue("other", "one more", b"")
    assert await queue.complete(await claim_one(queue))
    assert await queue.enqueue("compile", "one more", b"")


async def test_bound_counts_items_of_another_server(
    queue: WorkQueue, other_queue: WorkQueue, clock: ManualClock
) -> None:
    await queue.enqueue("compile", "mine", b"")
    for number in range(49):
        await other_queue.enqueue("compile", f"{number:02}", b"")
    clock.advance(1)
    with pytest.raises(UnavailableError):
        await queue.enqueue("compile", "one more", b"")


async def test_payload_beyond_the_limit_is_refused(queue: WorkQueue) -> None:
    await queue.enqueue("compile", "large", b"x" * MAX_PAYLOAD_BYTES)
    with pytest.raises(InputError) as caught:
        await queue.enqueue("compile", "larger", b"x" * (MAX_PAYLOAD_BYTES + 1))
    assert caught.value.code == "WORK-003"
    assert [item.key for item in await queue.list_waiting()] == ["large"]


async def test_undeclared_kind_is_an_internal_error(queue: WorkQueue) -> None:
    with pytest.raises(InternalError):
        await queue.enqueue("typo", "node", b"")


async def test_concurrent_claims_never_share_an_item(queue: WorkQueue, other_queue: WorkQueue) -> None:
    for number in range(50):
        await queue.enqueue("compile", f"{number:02}", b"")
    claims = await asyncio.gather(
        *(
            which.claim("compile", f"worker{number}", limit=7, lease_s=60)
            for number, which in enumerate([queue, other_queue] * 8)
        )
    )
    keys = [claim.key for batch in claims for claim in batch]
    assert sorted(keys) == [f"{number:02}" for number in range(50)]


async def test_enqueue_takes_part_in_another_transaction(queue: WorkQueue, database: Database) -> None:
    streams = Streams(database)

    def both(payload: bytes) -> Transaction[None]:
        yield from streams.append_records("log", [payload])
        yield from queue.enqueue_item("compile", "node", payload)

    await database.write(both, b"good")
    with pytest.raises(InputError):
        await database.write(both, b"x" * (MAX_PAYLOAD_BYTES + 1))
    assert [record.body for record in (await streams.read("log", 0)).records] == [b"good"]
    assert (await claim_one(queue)).payload == b"good"


async def test_enqueue_wakes_the_workers_of_its_kind(queue: WorkQueue, database: Database) -> None:
    with database.wakeups.subscribe(topic("compile")) as mine, database.wakeups.subscribe(topic("other")) as others:
        await queue.enqueue("compile", "node", b"")
        assert await mine.wait(10)
        assert not await others.wait(0.01)


async def test_counts_show_waiting_claimed_and_dead(queue: WorkQueue, clock: ManualClock) -> None:
    await make_dead(queue, clock, "dead")
    since = clock.now()
    for key in ("a", "b", "c"):
        await queue.enqueue("compile", key, b"")
    await claim_one(queue)
    await queue.enqueue("other", "x", b"")
    counts = {count.kind: count for count in await queue.count_by_kind()}
    assert (counts["compile"].waiting, counts["compile"].held, counts["compile"].dead) == (2, 1, 1)
    assert counts["compile"].oldest_at == since
    assert (counts["other"].waiting, counts["other"].held, counts["other"].dead) == (1, 0, 0)


async def test_item_that_is_not_due_has_not_waited(queue: WorkQueue, clock: ManualClock) -> None:
    due_at = clock.now() + timedelta(hours=1)
    await queue.enqueue("compile", "later", b"", due_at=due_at)
    (counts,) = await queue.count_by_kind()
    assert counts.oldest_at == due_at
    await queue.enqueue("compile", "now", b"")
    (counts,) = await queue.count_by_kind()
    assert counts.oldest_at == clock.now()


async def test_lists_are_paged_in_a_total_order(queue: WorkQueue) -> None:
    for number in range(25):
        await queue.enqueue("compile", f"{number:02}", b"")
    seen: list[str] = []
    after = ("", "")
    while page := await queue.list_waiting(after, limit=10):
        seen += [item.key for item in page]
        after = (page[-1].kind, page[-1].key)
    assert seen == [f"{number:02}" for number in range(25)]


async def make_dead(queue: WorkQueue, clock: ManualClock, key: str) -> None:
    await queue.enqueue("compile", key, key.encode())
    for _ in range(COMPILE.max_attempts):
        await queue.fail(await claim_one(queue), "no")
        clock.advance(100)
