"""Machines that were set back to an earlier state, and claim again what they had claimed, on both databases."""

from lab.job_engine import JobEngine
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import Claim
from precast.wire.jobs.views import JobLimits


async def claim(site: JobEngine, job: str, number: int) -> None:
    await site.report("b", Claim(make_order_id(job, 1, 1), number, "store", "boot"))


async def answers(site: JobEngine) -> list[tuple[int, bool]]:
    return [(grant.claim, grant.is_granted) for grant in await site.grants_of("b")]


async def test_machine_that_was_set_back_is_answered_by_its_present_number(site: JobEngine) -> None:
    job = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    await claim(site, job, 3)
    await claim(site, job, 1)
    await site.carry_out(job, "a")
    await site.drive()
    assert await site.states(job) == {"a": "COMPLETED", "b": "PICKED_UP"}
    assert await answers(site) == [(1, True)], "a grant of claim 3 would be ignored"


async def test_machine_that_was_set_back_is_refused_what_it_has_reported(site: JobEngine) -> None:
    job = await site.start("b")
    await site.drive()
    await claim(site, job, 1)
    await site.end(job, "b")
    await claim(site, job, 1)
    assert await answers(site) == [(1, True), (1, False)]
