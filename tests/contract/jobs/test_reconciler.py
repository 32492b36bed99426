"""What the reconciler finds, on both databases: circles of waits across jobs, locks without attempts, attempts that nothing would end."""

from lab.job_engine import JobEngine
from precast.services.jobs.reconciler import Reconciler
from precast.services.jobs.standstills import Standstills
from precast.store.engine.query import Query, Transaction
from precast.store.jobs.attempts import AttemptKey
from precast.wire.jobs.orders import Abort


def reconciler(site: JobEngine) -> Reconciler:
    return Reconciler(site.database, site.attempts, site.locks, site.grants, Standstills(site.database, site.jobs))


async def wait(site: JobEngine, job: str, node: str, for_job: str, for_node: str) -> None:
    await site.database.write(site.attempts.wait_for, AttemptKey(job, 1, node, 1), for_job, 1, for_node)


async def test_cycle_of_waits_across_jobs_is_broken_by_failing_the_younger(site: JobEngine) -> None:
    older, younger = await site.start("a", "b"), await site.start("a", "b")
    await site.drive()
    await site.claim(older, "a")
    await site.claim(younger, "b")
    await site.claim(older, "b")
    await site.claim(younger, "a")
    assert (await site.states(older), await site.states(younger)) == (
        {"a": "PICKED_UP", "b": "QUEUED"},
        {"a": "QUEUED", "b": "PICKED_UP"},
    )
    # On a, the older job waits for its own step on b, whose lock the younger has; and the other way round.
    await wait(site, older, "a", older, "b")
    assert await reconciler(site).break_cycles() == 0
    await wait(site, younger, "b", younger, "a")
    assert await reconciler(site).break_cycles() == 1
    assert (await site.states(younger))["b"] == "FAILED(deadlock)"
    assert older in str(await site.message(younger, "b"))
    assert (await site.states(older))["b"] == "PICKED_UP", "the lock is free for the older job"
    assert [type(body) for body in await site.received("b")].count(Abort) == 1
    assert await reconciler(site).break_cycles() == 0


async def test_steps_of_sound_jobs_are_left_alone(site: JobEngine) -> None:
    job, other = await site.start("a", "b"), await site.start("a")
    await site.drive()
    await site.claim(job, "a")
    await site.claim(other, "a")
    before = await site.states(job), await site.states(other)
    assert await reconciler(site).put_right() == 0
    assert (await site.states(job), await site.states(other)) == before


async def test_lock_without_its_attempt_is_released_and_the_next_claim_granted(site: JobEngine) -> None:
    job = await site.start("a")
    await site.drive()
    await site.database.write(site.locks.take, AttemptKey("gone", 1, "a", 1))
    await site.claim(job, "a")
    assert await site.states(job) == {"a": "QUEUED"}
    assert await reconciler(site).put_right() == 1
    assert await site.states(job) == {"a": "PICKED_UP"}


async def test_attempts_that_nothing_would_end_are_ended(site: JobEngine) -> None:
    job, other = await site.start("a", "b"), await site.start("c")
    await site.drive()
    await site.claim(job, "a")
    await site.claim(other, "c")

    def damage() -> Transaction[None]:
        yield Query("test.over", "UPDATE job SET ended_at = 1, state = 'done' WHERE id = :job")(job=job)
        yield Query("test.endless", "UPDATE attempt SET due_at = NULL WHERE job = :job")(job=other)

    await site.database.write(damage)
    assert await reconciler(site).put_right() == 3
    assert await site.states(job) == {"a": "FAILED(lost)", "b": "CANCELLED"}
    assert await site.states(other) == {"c": "FAILED(lost)"}
    assert await site.database.read(site.locks.find_holder, "a") is None
