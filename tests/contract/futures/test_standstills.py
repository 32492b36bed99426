"""Runs that wait for each other end within two checks, with who waits for whom; runs that can go on are left alone."""

import pytest

from lab.future_site import FutureSite, Recorder
from precast.services.jobs.standstills import Standstills
from precast.wire.futures import Wait, Waiting
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.views import JobLimits

CIRCLE = (
    "failed: runs wait for each other: db1 waits for web of web1 (File[of db1]), "
    "web1 waits for db of db1 (File[of web1])"
)


@pytest.fixture
def standstills(site: FutureSite) -> Standstills:
    return Standstills(site.database, site.jobs)


async def waits(site: FutureSite, job: str, node: str, key: str, *, is_idle: bool = True) -> None:
    order, now = make_order_id(job, 1, 1), site.database.clock.now()
    wait = Wait(f"File[of {node}]", key, 600.0)
    await site.say((node, Waiting(order, site.digests[node], [wait], now, is_idle)))


async def circle(site: FutureSite) -> tuple[str, Recorder, Recorder]:
    """db1 and web1 need what the other promises."""
    await site.release("db1", ["db"], ["web"])
    await site.release("web1", ["web"], ["db"])
    job = await site.start("db1", "web1")
    await site.drive()
    await site.claim(job, "db1", "web1")
    return job, await site.subscribe("db1", job), await site.subscribe("web1", job)


async def test_runs_that_wait_for_each_other_are_told_so(site: FutureSite, standstills: Standstills) -> None:
    job, db1, web1 = await circle(site)
    await waits(site, job, "db1", "web")
    await waits(site, job, "web1", "db")
    assert await standstills.end() == 0
    assert await standstills.end() == 2
    await db1.until({"web@web1": CIRCLE})
    await web1.until({"db@db1": CIRCLE})
    assert await standstills.end() == 0


async def test_run_that_still_works_may_fulfil_its_promise(site: FutureSite, standstills: Standstills) -> None:
    job, _, web1 = await circle(site)
    await waits(site, job, "web1", "db")
    await waits(site, job, "db1", "web", is_idle=False)
    assert [await standstills.end() for _ in range(3)] == [0, 0, 0]
    await site.promise("db1", "db", "x", job=job)
    await waits(site, job, "db1", "web")
    assert [await standstills.end() for _ in range(3)] == [0, 0, 0]
    await web1.until({"db@db1": "x"})


@pytest.mark.parametrize("limits", [JobLimits(batch="1"), JobLimits(at_once="1")], ids=["batch", "at once"])
async def test_run_that_only_waits_lets_the_next_begin_that_has_its_value(
    site: FutureSite, standstills: Standstills, limits: JobLimits
) -> None:
    await site.release("db1", needs=["web"])
    await site.release("web1", ["web"])
    job = await site.start("db1", "web1", limits=limits)
    await site.drive()
    await site.claim(job, "db1")
    waiting = await site.subscribe("db1", job)
    assert await site.ordered("db1", "web1") == ["db1"]
    await waits(site, job, "db1", "web", is_idle=False)
    await site.drive()
    assert await site.ordered("db1", "web1") == ["db1"], "it still works"
    await waits(site, job, "db1", "web")
    assert [await standstills.end() for _ in range(3)] == [0, 0, 0]
    await site.drive()
    assert await site.ordered("db1", "web1") == ["db1", "web1"]
    await site.claim(job, "web1")
    await site.promise("web1", "web", "x", job=job)
    await waiting.until({"web@web1": "x"})
    await site.end(job, "db1", "web1")
    await site.drive()
    assert await site.states(job) == {"db1": "COMPLETED", "web1": "COMPLETED"}


async def test_others_do_not_begin_before_a_canary_that_waits_for_them(
    site: FutureSite, standstills: Standstills
) -> None:
    await site.release("db1", needs=["web"])
    await site.release("web1", ["web"])
    job = await site.start("db1", "web1", limits=JobLimits(canary="1"))
    await site.drive()
    await site.claim(job, "db1")
    waiting = await site.subscribe("db1", job)
    await waits(site, job, "db1", "web")
    assert [await standstills.end() for _ in range(2)] == [0, 1]
    reason = "it cannot begin before others end, of which db1 waits for it (File[of db1])"
    await waiting.until({"web@web1": f"failed: {reason}"})


async def test_member_that_has_its_turn_soon_is_waited_for(site: FutureSite, standstills: Standstills) -> None:
    await site.release("db1", needs=["web"])
    await site.release("web1", ["web"])
    job = await site.start("db1", "web1")
    await site.drive()
    await site.claim(job, "db1")
    await waits(site, job, "db1", "web")
    assert [await standstills.end() for _ in range(3)] == [0, 0, 0]


async def test_jobs_that_hold_each_others_nodes_are_found(site: FutureSite, standstills: Standstills) -> None:
    """Each job has begun on the node whose promise the other one waits for."""
    await site.release("db1", ["db"], ["web"])
    await site.release("web1", ["web"], ["db"])
    one = await site.start("db1", "web1")
    two = await site.start("db1", "web1")
    await site.drive()
    await site.claim(one, "db1")
    await site.claim(two, "web1")
    await site.claim(one, "web1")
    await site.claim(two, "db1")
    await waits(site, one, "db1", "web")
    await waits(site, two, "web1", "db")
    assert [await standstills.end() for _ in range(2)] == [0, 2]


async def test_wait_ends_with_its_attempt(site: FutureSite, standstills: Standstills) -> None:
    job, _, _ = await circle(site)
    await waits(site, job, "db1", "web")
    await waits(site, job, "web1", "db")
    await standstills.end()
    await site.end(job, "db1", "web1", is_success=False)
    assert await standstills.end() == 0
