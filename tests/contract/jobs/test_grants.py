"""Claims and grants on both databases: who may begin, who waits for whom, and who is refused."""

import pytest

from lab.job_engine import ANN, JobEngine
from precast.base.clock import ManualClock
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import Abort, Claim, NotRun
from precast.wire.jobs.views import JobLimits


async def granted(site: JobEngine, node: str) -> list[tuple[str, int, bool]]:
    return [(grant.order.split(".")[0], grant.claim, grant.is_granted) for grant in await site.grants_of(node)]


async def test_claim_picks_the_attempt_up_and_is_granted(site: JobEngine) -> None:
    job = await site.start("a")
    await site.drive()
    assert await site.states(job) == {"a": "QUEUED"}
    await site.claim(job, "a")
    assert await site.states(job) == {"a": "PICKED_UP"}
    assert await granted(site, "a") == [(job, 1, True)]


async def test_lost_grant_is_asked_again_and_answered_again(site: JobEngine) -> None:
    job = await site.start("a")
    await site.drive()
    await site.claim(job, "a")
    await site.claim(job, "a")
    assert await granted(site, "a") == [(job, 1, True), (job, 2, True)]
    assert await site.states(job) == {"a": "PICKED_UP"}


async def test_copy_of_a_machine_is_refused_what_the_original_has_begun(site: JobEngine) -> None:
    job = await site.start("a")
    await site.drive()
    await site.claim(job, "a")
    await site.report("a", Claim(make_order_id(job, 1, 1), 7, "another-store", "boot"))
    assert await granted(site, "a") == [(job, 1, True), (job, 7, False)]
    first, last = await site.grants_of("a")
    assert "another machine" in last.message
    assert (first.instance, last.instance) == ("store", "another-store"), "an answer is for the machine that asked"


@pytest.mark.parametrize("order", ["nothing.1.1", "run-1.2.1", "run-1.1.2", "what-is-this"])
async def test_claim_of_an_unknown_order_is_refused(site: JobEngine, order: str) -> None:
    await site.start("a")
    await site.drive()
    await site.database.write(site.grants.claim, "a", Claim(order, 1, "store", "boot"))
    (grant,) = await site.grants_of("a")
    assert (grant.order, grant.is_granted, grant.message) == (order, False, "no such order exists")


async def test_node_cannot_claim_for_another(site: JobEngine) -> None:
    job = await site.start("a")
    await site.drive()
    await site.claim(job, "b")
    assert await site.states(job) == {"a": "QUEUED"}
    assert await granted(site, "b") == [(job, 1, False)]


async def test_cancel_and_claim_exactly_one_wins(site: JobEngine) -> None:
    job, other = await site.start("a"), await site.start("b")
    await site.drive()
    await site.claim(job, "a")
    await site.service.stop(job, ANN)
    await site.service.stop(other, ANN)
    await site.drive()
    await site.claim(other, "b")
    assert (await site.states(job), await site.states(other)) == ({"a": "PICKED_UP"}, {"b": "CANCELLED"})
    assert await granted(site, "b") == [(other, 1, False)]
    assert (await site.grants_of("b"))[0].message == "it is CANCELLED"


async def test_claim_waits_for_the_turn(site: JobEngine) -> None:
    job = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.claim(job, "b")  # it was not its turn: the node had the order from before a reconnect
    assert await site.states(job) == {"a": "QUEUED", "b": "QUEUED"}
    await site.carry_out(job, "a")
    await site.drive()
    assert await site.states(job) == {"a": "COMPLETED", "b": "PICKED_UP"}
    assert await granted(site, "b") == [(job, 1, True)]


async def test_two_jobs_never_change_a_node_at_once(site: JobEngine, clock: ManualClock) -> None:
    first, second, third = await site.start("a"), await site.start("a"), await site.start("a")
    await site.drive()
    for job in (first, second, third):
        await site.claim(job, "a")
        clock.advance(1)
    states = [(await site.states(job))["a"] for job in (first, second, third)]
    assert states == ["PICKED_UP", "QUEUED", "QUEUED"]
    (waiting,) = await site.service.steps(second, "")
    assert (waiting.reason, f"waits for the job {first}" in str(waiting.message)) == ("lock", True)
    clock.advance(1_000)  # longer than a node may take to begin: a wait for the lock does not count
    await site.drive()
    await site.end(first, "a")
    states = [(await site.states(job))["a"] for job in (first, second, third)]
    assert states == ["COMPLETED", "PICKED_UP", "QUEUED"]
    await site.end(second, "a", is_success=False)
    await site.end(third, "a")
    states = [(await site.states(job))["a"] for job in (first, second, third)]
    assert states == ["COMPLETED", "FAILED(failed)", "COMPLETED"]
    assert await site.database.read(site.locks.find_holder, "a") is None
    assert await granted(site, "a") == [(first, 1, True), (second, 1, True), (third, 1, True)]


async def test_lock_of_an_attempt_that_is_lost_is_released(site: JobEngine, clock: ManualClock) -> None:
    job = await site.start("a", limits=JobLimits(take_s=100))
    later = await site.start("a", limits=JobLimits(begin_s=1_000))
    await site.drive()
    await site.claim(job, "a")
    await site.claim(later, "a")
    clock.advance(101)
    await site.connect("a")
    await site.drive()
    assert (await site.states(job), await site.states(later)) == ({"a": "FAILED(lost)"}, {"a": "PICKED_UP"})


async def test_claim_that_comes_too_late_is_refused(site: JobEngine, clock: ManualClock) -> None:
    job = await site.start("a", limits=JobLimits(begin_s=10))
    await site.drive()
    clock.advance(11)
    await site.claim(job, "a")
    await site.connect("a")
    await site.drive()
    assert await site.states(job) == {"a": "EXPIRED"}
    assert await granted(site, "a") == [(job, 1, False)]


async def test_abort_ends_what_is_queued_and_tells_what_runs(site: JobEngine) -> None:
    job = await site.start("a", "b")
    await site.drive()
    await site.claim(job, "a")
    await site.service.abort(job, "person:bob")
    await site.drive()
    assert await site.states(job) == {"a": "PICKED_UP", "b": "CANCELLED"}
    assert [body for body in await site.received("a") if isinstance(body, Abort)] == [
        Abort(make_order_id(job, 1, 1), "aborted by person:bob")
    ]
    now = site.database.clock.now()
    await site.report("a", NotRun(make_order_id(job, 1, 1), "aborted", "it was told to end", now))
    await site.drive()
    assert await site.states(job) == {"a": "FAILED(aborted)", "b": "CANCELLED"}
    assert (await site.service.show(job)).state == "aborted"


async def test_node_that_does_not_follow_an_abort_is_lost_after_a_while(site: JobEngine, clock: ManualClock) -> None:
    job = await site.start("a")
    await site.drive()
    await site.claim(job, "a")
    await site.service.abort(job, ANN)
    await site.drive()
    clock.advance(121)
    await site.connect("a")
    await site.drive()
    assert await site.states(job) == {"a": "FAILED(lost)"}


async def test_result_of_an_attempt_that_a_restored_database_has_queued_counts(site: JobEngine) -> None:
    job = await site.start("a")
    await site.drive()
    await site.end(job, "a")
    (step,) = await site.service.steps(job, "")
    assert (step.state, step.picked_up_at is None) == ("COMPLETED", False)
