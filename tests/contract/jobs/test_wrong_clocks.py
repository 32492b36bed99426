"""Jobs and a clock that jumps, on both databases."""

from lab.job_engine import ANN, JobEngine
from precast.base.clock import ManualClock
from precast.wire.jobs.views import JobLimits


async def test_job_of_a_clock_that_was_ahead_is_driven_at_once_when_the_clock_is_right(
    site: JobEngine, clock: ManualClock
) -> None:
    clock.set_ahead(7200)
    await site.connect("a")
    job = await site.start("a")
    clock.set_back(7200)
    await site.connect("a")
    await site.drive()
    await site.carry_out(job, "a")
    await site.drive()
    assert (await site.service.show(job)).state == "done"


async def test_job_that_was_stopped_while_the_clock_was_ahead_ends_when_the_clock_is_right(
    site: JobEngine, clock: ManualClock
) -> None:
    await site.introduce("gone")
    job = await site.start("gone", limits=JobLimits(away_s=86_400))
    await site.drive()
    clock.set_ahead(7200)
    await site.service.stop(job, ANN)
    clock.set_back(7200)
    await site.drive()
    assert await site.states(job) == {"gone": "CANCELLED"}
