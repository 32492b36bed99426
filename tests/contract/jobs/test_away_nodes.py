"""Nodes that are away, on both databases: what happens to their attempts by policy, and that they hold up nobody."""

from datetime import timedelta

from lab.job_engine import ANN, JobEngine
from precast.base.clock import ManualClock
from precast.services.identity.signer.client import SignerClient
from precast.wire.jobs.views import JobLimits


async def test_away_node_is_skipped_at_once_by_default(site: JobEngine) -> None:
    await site.introduce("gone")
    job = await site.start("a", "gone")
    assert await site.states(job) == {"a": "QUEUED", "gone": "SKIPPED(away)"}
    await site.drive()
    await site.carry_out(job, "a")
    await site.drive()
    view = await site.service.show(job)
    assert (view.state, view.counts) == ("done", {"COMPLETED": 1, "SKIPPED": 1})
    assert view.reasons == {"SKIPPED(away)": 1}
    assert await site.received("gone") == []


async def test_node_that_leaves_before_its_turn_is_skipped(site: JobEngine, clock: ManualClock) -> None:
    job = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.leave("b")
    clock.advance(10)
    await site.carry_out(job, "a")
    await site.drive()
    assert await site.states(job) == {"a": "COMPLETED", "b": "SKIPPED(away)"}
    assert (await site.service.show(job)).state == "done"


async def test_node_that_leaves_before_it_claims_gives_its_slot_back(site: JobEngine, clock: ManualClock) -> None:
    job = await site.start("a", "b", limits=JobLimits(at_once="1", away_s=3600))
    await site.drive()
    assert await site.ordered("a", "b") == ["a"]
    await site.leave("a")
    clock.advance(3)
    await site.drive()
    assert await site.ordered("a", "b") == ["a", "b"]
    await site.carry_out(job, "b")
    await site.drive()
    assert await site.states(job) == {"a": "QUEUED", "b": "COMPLETED"}
    # It has its order from before. It claims when it is back, and is granted with its turn.
    await site.connect("a")
    await site.claim(job, "a")
    await site.drive()
    assert await site.states(job) == {"a": "PICKED_UP", "b": "COMPLETED"}
    assert len(await site.orders_of("a")) == 1


async def test_return_of_a_node_starts_what_waits_for_it(site: JobEngine, clock: ManualClock) -> None:
    await site.introduce("gone")
    job = await site.start("a", "gone", limits=JobLimits(away_s=7200))
    await site.drive()
    await site.carry_out(job, "a")
    await site.drive()
    assert await site.states(job) == {"a": "COMPLETED", "gone": "QUEUED"}
    assert await site.received("gone") == [], "an order is not sent before the node is there"
    clock.advance(3600)
    await site.connect("gone")
    await site.drive()
    await site.carry_out(job, "gone")
    await site.drive()
    assert (await site.service.show(job)).state == "done"


async def test_job_that_waits_for_away_nodes_belongs_to_nobody(site: JobEngine, clock: ManualClock) -> None:
    await site.introduce("gone")
    job = await site.start("gone", limits=JobLimits(away_s=7200))
    await site.drive()
    assert site.driver.driven == []
    wake_at = await site.database.read(site.jobs.find_next_wake)
    assert wake_at == clock.now() + timedelta(hours=2)
    clock.advance(7200)
    await site.drive()
    assert await site.states(job) == {"gone": "EXPIRED"}


async def test_away_node_expires_at_the_end_of_the_wait(site: JobEngine, clock: ManualClock) -> None:
    await site.introduce("gone")
    job = await site.start("gone", limits=JobLimits(away_s=60))
    await site.drive()
    clock.advance(61)
    await site.drive()
    assert await site.states(job) == {"gone": "EXPIRED"}
    assert (await site.service.show(job)).state == "done"


async def test_away_node_is_unreachable_after_so_many_tries(site: JobEngine, clock: ManualClock) -> None:
    await site.introduce("gone", "late")
    job = await site.start("gone", "late", limits=JobLimits(tries=3, try_every_s=60))
    for _ in range(2):
        await site.drive()
        await site.drive()
        assert await site.states(job) == {"gone": "QUEUED", "late": "QUEUED"}
        clock.advance(60)
    await site.connect("late")
    await site.drive()
    assert await site.states(job) == {"gone": "FAILED(unreachable)", "late": "QUEUED"}
    await site.carry_out(job, "late")
    await site.drive()
    assert await site.states(job) == {"gone": "FAILED(unreachable)", "late": "COMPLETED"}
    assert await site.message(job, "gone") == "it was looked for 3 times and was never connected"


async def test_away_nodes_hold_up_no_batch(site: JobEngine) -> None:
    await site.introduce("gone")
    job = await site.start("gone", "a", "b", limits=JobLimits(batch="1", away_s=3600))
    await site.drive()
    assert await site.ordered("a", "b", "gone") == ["a"]
    await site.carry_out(job, "a")
    await site.drive()
    await site.carry_out(job, "b")
    await site.drive()
    assert await site.states(job) == {"a": "COMPLETED", "b": "COMPLETED", "gone": "QUEUED"}


async def test_node_that_connects_to_another_server_at_its_turn_is_not_skipped(
    site: JobEngine, clock: ManualClock
) -> None:
    job = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.carry_out(job, "a")
    await site.leave("b")
    clock.advance(5)
    await site.drive()
    await site.connect("b")
    await site.carry_out(job, "b")
    await site.drive()
    assert await site.states(job) == {"a": "COMPLETED", "b": "COMPLETED"}


async def test_retry_waits_for_away_nodes_as_long_as_the_first_round(site: JobEngine, clock: ManualClock) -> None:
    await site.introduce("gone")
    job = await site.start("gone", limits=JobLimits(away_s=60))
    await site.drive()
    clock.advance(61)
    await site.drive()
    assert await site.states(job) == {"gone": "EXPIRED"}
    await site.service.retry(job, ANN)
    await site.drive()
    assert await site.states(job) == {"gone": "QUEUED"}
    await site.connect("gone")
    await site.drive()
    await site.carry_out(job, "gone", n=2)
    assert await site.states(job) == {"gone": "COMPLETED"}


async def test_canary_is_of_nodes_that_are_there(site: JobEngine) -> None:
    await site.introduce("gone")
    await site.start("gone", "a", "b", limits=JobLimits(canary="1", away_s=3600))
    await site.drive()
    assert await site.ordered("a", "b", "gone") == ["a"]


async def test_job_that_failed_too_often_is_halted_though_only_away_nodes_are_left(site: JobEngine) -> None:
    await site.introduce("gone")
    job = await site.start("a", "gone", limits=JobLimits(at_once="5", tolerate="0", away_s=3600))
    await site.drive()
    await site.carry_out(job, "a", is_success=False)
    await site.drive()
    assert await site.states(job) == {"a": "FAILED(failed)", "gone": "SKIPPED(halted)"}
    assert (await site.service.show(job)).state == "halted"


async def test_node_whose_server_renews_a_lapsed_lease_is_found_without_an_event(
    site: JobEngine, clock: ManualClock, signer: SignerClient
) -> None:
    other = JobEngine(site.database, signer, "s2")
    await other.connect("elsewhere")
    job = await site.start("elsewhere", limits=JobLimits(away_s=3600))
    clock.advance(60)  # longer ago than the driver looks for nodes that have connected
    await site.drive()
    assert await site.received("elsewhere") == []
    await other.renew()
    clock.advance(5)
    await site.drive()
    assert await site.ordered("elsewhere") == ["elsewhere"]
    assert await site.states(job) == {"elsewhere": "QUEUED"}
