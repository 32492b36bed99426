"""Jobs on both databases: which nodes get their turn when, by limits, failures, a stop and another round."""

import pytest

from lab.job_engine import ANN, JobEngine
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.views import JobLimits


async def test_batch_starts_when_all_nodes_of_the_previous_batch_have_ended(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(batch="50%", tolerate="1"))
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.carry_out(run, "a")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.carry_out(run, "b", is_success=False)
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c", "d"]


async def test_at_once_limits_the_running_nodes(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(at_once="2"))
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.carry_out(run, "b")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c"]


async def test_more_failures_than_tolerated_halt_the_run(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(at_once="2", tolerate="1"))
    await site.drive()
    await site.carry_out(run, "a", is_success=False)
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c"]
    await site.claim(run, "c")
    await site.carry_out(run, "b", is_success=False)
    await site.drive()
    assert (await site.service.show(run)).state == "halting"
    assert await site.states(run) == {
        "a": "FAILED(failed)",
        "b": "FAILED(failed)",
        "c": "PICKED_UP",
        "d": "SKIPPED(halted)",
    }
    await site.end(run, "c")
    await site.drive()
    assert (await site.service.show(run)).state == "halted"
    assert await site.message(run, "d") == "too many others failed"


async def test_stop_lets_running_nodes_finish(site: JobEngine) -> None:
    run = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.claim(run, "a")
    assert (await site.service.stop(run, "person:bob")).state == "stopping"
    await site.drive()
    assert await site.states(run) == {"a": "PICKED_UP", "b": "CANCELLED"}
    await site.carry_out(run, "a")
    await site.drive()
    view = await site.service.show(run)
    assert (view.state, view.stopped_by) == ("stopped", "person:bob")
    with pytest.raises(ConflictError) as caught:
        await site.service.stop(run, ANN)
    assert caught.value.code == "RUN-002"


async def test_resume_goes_on_with_the_nodes_that_have_not_begun(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.claim(run, "a")
    await site.service.stop(run, ANN)
    with pytest.raises(ConflictError) as caught:
        await site.service.resume(run, ANN)
    assert caught.value.code == "RUN-007"
    await site.end(run, "a", is_success=False)
    await site.drive()
    assert await site.states(run) == {"a": "FAILED(failed)", "b": "CANCELLED", "c": "CANCELLED"}
    await site.service.resume(run, ANN)
    await site.drive()
    await site.carry_out(run, "b", n=2)
    await site.drive()
    await site.carry_out(run, "c", n=2)
    await site.drive()
    assert await site.states(run) == {"a": "FAILED(failed)", "b": "COMPLETED", "c": "COMPLETED"}
    view = await site.service.show(run)
    assert (view.state, view.round, view.counts) == ("done", 2, {"COMPLETED": 2, "FAILED": 1})
    await site.claim(run, "b")
    assert [grant.is_granted for grant in await site.grants_of("b")] == [True, False], "an order of an earlier round"


async def test_retry_repeats_only_the_nodes_that_failed(site: JobEngine) -> None:
    run = await site.start("a", "b")
    await site.drive()
    await site.carry_out(run, "a")
    await site.carry_out(run, "b", is_success=False)
    await site.drive()
    view = await site.service.retry(run, ANN)
    assert (view.state, view.round, view.counts) == ("going", 2, {"COMPLETED": 1, "QUEUED": 1})
    await site.drive()
    assert [order.order for order in await site.orders_of("a")] == [make_order_id(run, 1, 1)]
    assert [order.order for order in await site.orders_of("b")] == [make_order_id(run, 1, n) for n in (1, 2)]
    await site.carry_out(run, "b", n=2)
    await site.drive()
    assert await site.states(run) == {"a": "COMPLETED", "b": "COMPLETED"}
    with pytest.raises(ConflictError) as caught:
        await site.service.retry(run, ANN)
    assert caught.value.code == "RUN-008"


async def test_canary_that_fails_halts_the_run(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(canary="1", tolerate="3"))
    await site.drive()
    assert await site.ordered(*"abcd") == ["a"]
    await site.carry_out(run, "a", is_success=False)
    await site.drive()
    assert await site.states(run) == {"a": "FAILED(failed)", **dict.fromkeys("bcd", "SKIPPED(halted)")}
    assert (await site.service.show(run)).state == "halted"


async def test_canary_that_succeeds_lets_the_others_begin(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(canary="1", tolerate="3"))
    await site.drive()
    await site.carry_out(run, "a")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c", "d"]


async def test_rate_spreads_the_turns_over_time(site: JobEngine, clock: ManualClock) -> None:
    run = await site.start("a", "b", "c", limits=JobLimits(per_minute=6))
    await site.drive()
    assert await site.ordered(*"abc") == ["a"]
    clock.advance(9)
    await site.connect(*"abc")
    await site.drive()
    assert await site.ordered(*"abc") == ["a"]
    clock.advance(1)
    await site.drive()
    assert await site.ordered(*"abc") == ["a", "b"]
    clock.advance(10)
    await site.connect(*"abc")
    await site.drive()
    assert await site.ordered(*"abc") == ["a", "b", "c"]
    assert (await site.service.show(run)).state == "going"
