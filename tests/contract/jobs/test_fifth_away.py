"""A fifth of the nodes is away, on both databases: what becomes of them by each policy. The table is in docs/explanation/jobs.md."""

from pathlib import Path
from typing import NamedTuple

import pytest

from lab.job_engine import JobEngine
from precast.base.clock import ManualClock
from precast.wire.jobs.views import JobLimits

PAGE = Path(__file__).resolve().parents[3] / "docs/explanation/jobs.md"
PRESENT = [f"p{number:02}" for number in range(40)]
AWAY = [f"z{number:02}" for number in range(10)]
MINUTE_S = 60.0


class Case(NamedTuple):
    """A policy, and when the nodes that are away return."""

    words: str
    limits: JobLimits
    back_after_min: int | None = None


CASES = [
    Case("skip (default)", JobLimits(at_once="5")),
    Case("`--away wait --away-for 1h`", JobLimits(at_once="5", away_s=3600), 30),
    Case("`--away wait --away-for 1h`", JobLimits(at_once="5", away_s=3600)),
    Case("`--away try --tries 3`", JobLimits(at_once="5", tolerate="10", tries=3, try_every_s=60)),
    Case("`--away try --tries 3`", JobLimits(at_once="5", tolerate="10", tries=3, try_every_s=60), 1),
]


async def carry_out_all(site: JobEngine, job: str, names: list[str], done: set[str]) -> None:
    """Let every node carry out what it is ordered, until nothing is ordered any more."""
    while True:
        ready = [name for name in await site.ordered(*names) if name not in done]
        if not ready:
            return
        await site.carry_out(job, *ready)
        done.update(ready)
        await site.drive()


async def play(site: JobEngine, clock: ManualClock, case: Case) -> str:
    """The row of a case: the outcome of both, and when the last of each had ended."""
    await site.connect(*PRESENT)
    await site.introduce(*AWAY)
    job = await site.start(*PRESENT, *AWAY, limits=case.limits)
    done: set[str] = set()
    await site.drive()
    await carry_out_all(site, job, PRESENT, done)
    present = {(await site.states(job))[name] for name in PRESENT}
    for minute in range(120):
        if (await site.service.show(job)).ended_at is not None:
            break
        if minute == case.back_after_min:
            await site.connect(*AWAY)
            await site.drive()
            await carry_out_all(site, job, AWAY, done)
        else:
            clock.advance(MINUTE_S)
            await site.connect(*PRESENT)
            await site.drive()
    view = await site.service.show(job)
    assert view.ended_at is not None
    ended_min = round((view.ended_at - view.made_at).total_seconds() / 60)
    counts = {(await site.states(job))[name] for name in AWAY}
    returns = "never" if case.back_after_min is None else f"after {case.back_after_min} min"
    return f"| {case.words} | {returns} | {', '.join(present)} at once | {', '.join(counts)} | {ended_min} min |"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.words}-{case.back_after_min}")
async def test_outcome_of_a_fifth_of_the_nodes_is_that_of_the_table(
    site: JobEngine, clock: ManualClock, case: Case
) -> None:
    assert await play(site, clock, case) in PAGE.read_text().splitlines()
