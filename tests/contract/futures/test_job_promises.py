"""Promises of jobs on both databases: pending until the attempt fulfils them or ends, in whatever way; and what a retry does."""

from typing import Any

import pytest

from lab.future_site import FutureSite, Recorder
from precast.base.clock import ManualClock
from precast.store.jobs.attempts import purge_node_attempts
from precast.wire.futures import Binding, Bound, Unpromised
from precast.wire.jobs import states
from precast.wire.jobs.order_ids import make_order_id

KEY = "db/endpoint"


async def started(site: FutureSite, *names: str, **more: Any) -> tuple[str, Recorder]:
    """A job in which db1 promises the key and web1 needs it, both at work."""
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    job = await site.start("db1", "web1", *names, **more)
    await site.drive()
    await site.claim(job, "db1", "web1")
    return job, await site.subscribe("web1", job)


async def test_promise_is_pending_until_its_attempt_fulfils_it(site: FutureSite) -> None:
    job, waiting = await started(site)
    assert waiting.shown() == {f"{KEY}@db1": "pending"}
    await site.promise("db1", KEY, "a", job=job)
    await waiting.until({f"{KEY}@db1": "a"})
    assert await site.standing() == {f"{KEY}@db1": "a"}


async def test_standing_value_does_not_count_while_a_member_promises_the_key(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.promise("db1", KEY, "old")
    _, waiting = await started(site)
    assert waiting.shown() == {f"{KEY}@db1": "pending"}
    assert not waiting.values[KEY, "db1"].is_standing


async def test_standing_value_counts_in_a_job_without_a_member_that_promises_it(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    await site.promise("db1", KEY, "stands")
    job = await site.start("web1")
    await site.drive()
    await site.claim(job, "web1")
    waiting = await site.subscribe("web1", job)
    assert waiting.shown() == {f"{KEY}@db1": "stands"}
    assert waiting.values[KEY, "db1"].is_standing


async def test_same_value_is_accepted_again_and_another_one_is_a_conflict(site: FutureSite) -> None:
    job, waiting = await started(site)
    await site.say(site_record(site, job, "a"), site_record(site, job, "a"), site_record(site, job, "b"))
    await waiting.until({f"{KEY}@db1": "a"})
    number = waiting.values[KEY, "db1"].number
    await site.promise("db1", KEY, "b", job=job)
    assert await site.refusals() == ["this attempt has promised another value"] * 2
    assert (await site.subscribe("web1", job)).values[KEY, "db1"].number == number
    assert await site.standing() == {f"{KEY}@db1": "a"}


def site_record(site: FutureSite, job: str, value: str):  # type: ignore[no-untyped-def] # a tuple of a private union
    return "db1", site.promised("db1", KEY, value, job=job)


async def test_machine_that_has_not_begun_the_attempt_is_refused(site: FutureSite) -> None:
    job, waiting = await started(site)
    await site.promise("db1", KEY, "copy", job=job, instance="another-store")
    await site.end(job, "db1")
    await site.promise("db1", KEY, "late", job=job)
    assert await site.refusals() == ["its attempt is not at work, or another machine began it"] * 2
    assert await site.standing() == {}
    await waiting.until({f"{KEY}@db1": "failed: its run ended and did not promise it"})


async def test_member_that_will_not_promise_says_so_at_once(site: FutureSite) -> None:
    job, waiting = await started(site)
    order = make_order_id(job, 1, 1)
    said = Unpromised(
        order, site.digests["db1"], KEY, "its run failed at Service[postgresql]", site.database.clock.now()
    )
    await site.say(("db1", said))
    await waiting.until({f"{KEY}@db1": "failed: its run failed at Service[postgresql]"})
    await site.promise("db1", KEY, "after all", job=job)
    assert await site.refusals() == ["it was given up: its run failed at Service[postgresql]"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("fails", "its run failed: it ended with 1"),
        ("aborted", "its run was cancelled: aborted by person:ann"),
        ("expires", "its run did not begin"),
        ("purged", "the node was purged"),
    ],
)
async def test_every_end_of_an_attempt_fails_its_promises(
    site: FutureSite, clock: ManualClock, end: str, reason: str
) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    job = await site.start("web1", "db1")
    await site.drive()
    await site.claim(job, "web1")
    waiting = await site.subscribe("web1", job)
    assert waiting.shown() == {f"{KEY}@db1": "pending"}
    if end == "fails":
        await site.claim(job, "db1")
        await site.end(job, "db1", is_success=False)
    elif end == "aborted":
        await site.service.abort(job, "person:ann")
        await site.drive()
    elif end == "expires":
        clock.advance(301.0)
        await site.connect("db1", "web1")
        await site.drive()
    else:
        await site.database.write(purge_node_attempts, "db1", clock.now())
    await waiting.until({f"{KEY}@db1": f"failed: {reason}"})


async def test_member_that_is_away_has_failed_from_the_start(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.leave("db1")
    _, waiting = await started(site)
    (value,) = waiting.values.values()
    assert (value.state, value.reason) == ("failed", "it was skipped: it is not connected")


async def test_no_op_run_promises_nothing(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    job = await site.start("db1", "web1", mode="noop")
    await site.drive()
    await site.claim(job, "web1")
    assert (await site.subscribe("web1", job)).shown() == {}


async def test_promise_for_the_run_counts_in_its_job_only(site: FutureSite) -> None:
    await site.release("db1", {KEY: "run"})
    await site.release("web1", needs=[KEY])
    job = await site.start("db1", "web1")
    await site.drive()
    await site.claim(job, "db1", "web1")
    waiting = await site.subscribe("web1", job)
    await site.promise("db1", KEY, "a", job=job)
    await waiting.until({f"{KEY}@db1": "a"})
    assert await site.standing() == {}


async def test_node_that_is_not_at_work_may_not_read_values_of_a_job(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    job = await site.start("db1", "web1")
    await site.drive()
    (message,) = (await site.subscribe("web1", job)).messages
    assert (message.values, bool(message.error)) == ([], True)


async def test_run_that_was_overtaken_by_a_release_reads_what_its_catalog_needs(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    old = await site.release("web1", needs=[KEY])
    job = await site.start("db1", "web1")
    await site.drive()
    await site.claim(job, "db1", "web1")
    site.database.clock.advance(1.0)  # type: ignore[attr-defined] # the manual clock
    await site.release("web1", needs=["other"])
    waiting = await site.subscribe("web1", job, catalog=old)
    assert waiting.shown() == {f"{KEY}@db1": "pending"}


async def given(site: FutureSite, job: str, value: str) -> None:
    """web1 is given the value of db1, and its run ends."""
    (bound,) = (await site.subscribe("web1", job)).values.values()
    binding = Binding(KEY, "db1", bound.number)
    order = make_order_id(job, 1, 1)
    now = site.database.clock.now()
    await site.say(("web1", Bound(order, site.digests["web1"], "File[/etc/app]", [binding], now)))
    await site.end(job, "web1")


@pytest.mark.parametrize(
    ("policy", "web1"), [("rerun", states.QUEUED), ("fail", "FAILED(stale-value)"), ("keep", states.COMPLETED)]
)
async def test_retry_of_a_producer_follows_the_policy_for_those_it_gave_a_value(
    site: FutureSite, policy: str, web1: str
) -> None:
    job, _ = await started(site, stale_values=policy)
    await site.promise("db1", KEY, "first", job=job)
    await given(site, job, "first")
    await site.end(job, "db1", is_success=False)
    await site.drive()
    await site.service.retry(job, "person:ann")
    assert (await site.states(job))["web1"] == web1
    await site.drive()
    await site.claim(job, "db1", n=2)
    await site.promise("db1", KEY, "second", job=job, n=2)
    await site.promise("db1", KEY, "of the first attempt", job=job, n=1)
    assert await site.standing() == {f"{KEY}@db1": "second"}
    if policy == "rerun":
        await site.claim(job, "web1", n=2)
        assert (await site.subscribe("web1", job, n=2)).shown() == {f"{KEY}@db1": "second"}
