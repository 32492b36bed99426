"""Jobs and windows, on both databases: nothing begins on a node whose window is closed, or closes too soon."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from lab.job_engine import ANN, JobEngine, Windows
from precast.base.clock import ManualClock
from precast.services.identity.signer.client import SignerClient
from precast.store.engine.database import Database
from precast.wire.jobs.orders import Abort
from precast.wire.jobs.views import JobLimits
from precast.wire.windows.bodies import AtClose

SHORT = JobLimits(needs_s=60, away_s=86_400, begin_s=3600)


@pytest.fixture
def windows() -> Windows:
    return Windows()


@pytest.fixture
async def site(database: Database, signer: SignerClient, windows: Windows) -> JobEngine:
    made = JobEngine(database, signer, windows=windows)
    await made.connect("a", "b", "c", "d")
    return made


async def at_once(site: JobEngine, clock: ManualClock, minutes: float) -> None:
    clock.advance(minutes * 60)
    await site.connect("a", "b", "c", "d")
    await site.drive()


async def test_closed_window_holds_its_node_back_and_no_other(
    site: JobEngine, windows: Windows, clock: ManualClock
) -> None:
    windows.open("a", clock.now() + timedelta(hours=1), 30)
    job = await site.start("a", "b", limits=SHORT)
    await site.drive()
    assert windows.asked[0] == "run-enforce"
    assert await site.ordered("a", "b") == ["b"]
    await site.carry_out(job, "b")
    await site.drive()
    assert site.driver.driven == [], "a job that waits for a window belongs to nobody"
    await at_once(site, clock, 59)
    assert await site.ordered("a", "b") == ["b"]
    await at_once(site, clock, 1)
    assert await site.ordered("a", "b") == ["a", "b"]


async def test_job_that_waits_as_a_whole_keeps_its_batches(
    site: JobEngine, windows: Windows, clock: ManualClock
) -> None:
    for node in "abcd":
        windows.open(node, clock.now() + timedelta(hours=1), 60)
    limits = JobLimits(canary="1", needs_s=60, away_s=86_400)
    job = await site.start("a", "b", "c", "d", limits=limits)
    await site.drive()
    assert await site.ordered(*"abcd") == []
    await at_once(site, clock, 60)
    assert await site.ordered(*"abcd") == ["a"]
    await site.carry_out(job, "a")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c", "d"]


async def test_canary_whose_window_is_closed_holds_the_others_back(
    site: JobEngine, windows: Windows, clock: ManualClock
) -> None:
    windows.open("a", clock.now() + timedelta(hours=1), 60)
    windows.open("c", clock.now() + timedelta(hours=2), 60)
    limits = JobLimits(canary="1", needs_s=60, away_s=86_400)
    job = await site.start("a", "b", "c", "d", limits=limits)
    await site.drive()
    assert await site.ordered(*"abcd") == []
    assert site.driver.driven == [], "it waits for a window"
    await at_once(site, clock, 60)
    assert await site.ordered(*"abcd") == ["a"]
    await site.carry_out(job, "a")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "d"], "the window of c is closed, and holds up nobody else"
    await at_once(site, clock, 60)
    assert await site.ordered(*"abcd") == ["a", "b", "c", "d"]


async def test_window_that_opens_before_that_of_the_canary_starts_nothing(
    site: JobEngine, windows: Windows, clock: ManualClock
) -> None:
    windows.open("a", clock.now() + timedelta(hours=2), 60)
    windows.open("b", clock.now() + timedelta(hours=1), 300)
    limits = JobLimits(canary="1", needs_s=60, away_s=86_400)
    job = await site.start("a", "b", "c", limits=limits)
    await site.drive()
    await at_once(site, clock, 60)
    assert await site.ordered(*"abc") == []
    await at_once(site, clock, 60)
    assert await site.ordered(*"abc") == ["a"]
    await site.carry_out(job, "a")
    await site.drive()
    assert await site.ordered(*"abc") == ["a", "b", "c"]


async def test_canary_that_has_not_used_its_turn_keeps_its_place_when_its_window_closes(
    site: JobEngine, windows: Windows, clock: ManualClock
) -> None:
    windows.open("a", clock.now(), 10)
    limits = JobLimits(canary="1", needs_s=60, away_s=86_400, begin_s=3600)
    job = await site.start("a", "b", "c", limits=limits)
    await site.drive()
    assert await site.ordered(*"abc") == ["a"]
    await at_once(site, clock, 11)
    await at_once(site, clock, 0.1)
    assert await site.ordered(*"abc") == ["a"]
    assert await site.states(job) == dict.fromkeys("abc", "QUEUED")
    await site.service.stop(job, ANN)
    await site.drive()
    assert (await site.service.show(job)).state == "stopped"


async def test_what_does_not_fit_does_not_begin(site: JobEngine, windows: Windows, clock: ManualClock) -> None:
    windows.open("a", clock.now() - timedelta(minutes=30), 40)
    job = await site.start("a", limits=JobLimits(needs_s=11 * 60, away_s=3600))
    await site.drive()
    assert await site.received("a") == []
    fits = await site.start("a", limits=JobLimits(needs_s=9 * 60))
    await site.drive()
    assert [order.order.split(".")[0] for order in await site.orders_of("a")] == [fits]
    assert await site.states(job) == {"a": "QUEUED"}


@pytest.mark.parametrize(("at_close", "aborts"), [("finish", 0), ("abort", 1)])
async def test_closing_window_ends_what_was_begun_only_if_it_says_so(
    site: JobEngine, windows: Windows, clock: ManualClock, at_close: AtClose, aborts: int
) -> None:
    windows.open("a", clock.now(), 10, at_close)
    job = await site.start("a", limits=SHORT)
    await site.drive()
    await site.claim(job, "a")
    await at_once(site, clock, 9)
    assert not [body for body in await site.received("a") if isinstance(body, Abort)]
    await at_once(site, clock, 2)
    await site.drive()
    assert len([body for body in await site.received("a") if isinstance(body, Abort)]) == aborts


async def test_turn_that_was_not_used_ends_with_its_window(
    site: JobEngine, windows: Windows, clock: ManualClock
) -> None:
    windows.open("a", clock.now(), 10)
    holder = await site.start("a", limits=SHORT)
    waiting = await site.start("a", limits=SHORT)
    await site.drive()
    await site.claim(holder, "a")
    await site.claim(waiting, "a")
    await at_once(site, clock, 11)
    await site.end(holder, "a")
    await site.drive()
    assert (await site.states(holder), await site.states(waiting)) == ({"a": "COMPLETED"}, {"a": "QUEUED"})


async def test_step_that_waits_for_a_window_says_until_when(
    site: JobEngine, windows: Windows, clock: ManualClock
) -> None:
    windows.open("a", clock.now() + timedelta(hours=1), 30)
    job = await site.start("a", "b", "c", limits=JobLimits(needs_s=60, away_s=86_400, at_once="1"))
    await site.drive()
    steps = {step.node: step for step in await site.service.steps(job, "")}
    assert {node: step.reason for node, step in steps.items()} == {"a": "window", "b": None, "c": "turn"}
    opens_at = clock.now() + timedelta(hours=1)
    assert f"it may begin at {opens_at:%Y-%m-%d %H:%M:%SZ}" in (steps["a"].message or "")


async def test_run_that_overrides_its_windows_begins_and_is_audited_as_such(
    site: JobEngine, windows: Windows, clock: ManualClock
) -> None:
    windows.open("a", clock.now() + timedelta(hours=1), 30)
    held, job = await site.start("a"), await site.start("a", overrides_window=True)
    await site.drive()
    assert [order.order for order in await site.orders_of("a")] == [f"{job}.1.1"]
    assert (await site.service.show(job)).overrides_window
    assert not (await site.service.show(held)).overrides_window
    entries = {entry.detail["run"]: entry.detail for entry in await site.audit.read_latest()}
    assert (entries[job]["overrides_window"], entries[held]["overrides_window"]) == (True, False)


async def carry_out_runs(site: JobEngine, clock: ManualClock, seconds: Sequence[float]) -> None:
    """Runs of one node that take so long."""
    for taken_s in seconds:
        job = await site.start("a", overrides_window=True)
        await site.drive()
        await site.claim(job, "a")
        clock.advance(taken_s)
        await site.connect("a")
        await site.end(job, "a")
        await site.drive()


async def test_work_needs_as_long_as_it_has_taken_before(site: JobEngine, windows: Windows, clock: ManualClock) -> None:
    await carry_out_runs(site, clock, [100.0, 200.0, 300.0, 400.0])
    unknown = await site.start("b")
    assert (await site.service.show(unknown)).needs_s == 600.0, "four nodes say too little"
    await carry_out_runs(site, clock, [1_200.0])
    windows.open("c", clock.now(), 19)
    windows.open("d", clock.now(), 21)
    job = await site.start("c", "d", limits=JobLimits(away_s=3600))
    assert (await site.service.show(job)).needs_s == 1_200.0
    await site.drive()
    assert await site.ordered("c", "d") == ["d"]
    others = [await site.start("c", mode="noop"), await site.start("c", tags=["x"])]
    assert [(await site.service.show(other)).needs_s for other in others] == [600.0, 600.0], "that is other work"
    declared = await site.start("c", limits=JobLimits(needs_s=5))
    assert (await site.service.show(declared)).needs_s == 5.0


async def test_rare_slow_nodes_do_not_count_as_usual(site: JobEngine, clock: ManualClock) -> None:
    nodes = [f"n{number:02}" for number in range(20)]
    await site.connect(*nodes)
    job = await site.start(*nodes)
    await site.drive()
    await site.claim(job, *nodes)
    clock.advance(30)
    await site.renew()
    await site.end(job, *nodes[1:])
    clock.advance(3_000)
    await site.connect(*nodes)
    await site.end(job, nodes[0])
    await site.drive()
    assert (await site.service.show(await site.start("a"))).needs_s == 30.0
