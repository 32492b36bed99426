"""A plan of many tasks on many nodes: its check, and the passes of the driver of jobs while its run is under way.

Everything is in this process but the check, which a child process does as on a server. The nodes' answers go directly to the database, so
that the time of a pass is that of the driver alone: it takes in what has ended, and gives turns to what may begin.
"""

import asyncio
import json
import math
import resource
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lab import fleet
from lab.plan_engine import OPERATOR, PlanEngine
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.local import open_local_signer
from precast.services.jobs.driven_job import MAX_TURNS
from precast.store.engine import location
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.jobs.attempts import AttemptKey
from precast.store.schema.schema import Schema
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import Claim, TaskEnded, TaskPhase
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanFile, PlanRequest, PlanSource

WATCH_S = 0.005
# Every so many tasks, one that waits for another on all nodes, and one that only so many nodes do at once.
EVERY_CROSS, EVERY_LIMITED, AMOUNT = 10, 25, 50


class Spent(NamedTuple):
    """Elapsed time, and CPU time with that of child processes."""

    wall_s: float
    cpu_s: float


class PassTimes(NamedTuple):
    """Passes of the driver that each took in the ends of at most so many tasks, and their CPU time in milliseconds.

    `most_turns` is how many tasks began after the ends of one pass, in as many passes as that needs.
    """

    ends: int
    passes: int
    most_turns: int
    median_ms: float
    worst_ms: float


class LargeRun(NamedTuple):
    """What a large plan costs."""

    instances: int
    check: Spent
    start: Spent
    take_on: Spent  # until the driver has computed the net and has given the first turns
    blocked_ms: float  # the longest time in which the server did nothing else meanwhile
    passes: list[PassTimes]


def write_plan(tasks: int) -> str:
    """A plan whose tasks run on all nodes and wait for three earlier ones. They only look, so that they need no rights."""
    return json.dumps([_make_task(number) for number in range(tasks)])


def _make_task(number: int) -> dict[str, Any]:
    before = sorted({number - back for back in (1, 7, 30) if back <= number})
    task: dict[str, Any] = {
        "id": f"task{number}",
        "type": "skipped",
        "roles": ["*"],
        "requires": [f"task{other}" for other in before],
        "test_pre": {"file": "/", "state": "directory"},
    }
    if number and number % EVERY_CROSS == 0:
        task["cross_depends"] = [{"name": f"task{number - 1}"}]
    if number and number % EVERY_LIMITED == 0:
        task["parameters"] = {"strategy": {"type": "parallel", "amount": AMOUNT}}
    return task


async def measure(directory: Path, tasks: int, nodes: int, rounds: list[tuple[int, int]]) -> LargeRun:
    """Check and start the plan, and measure passes: for each round, so many passes after so many ends each."""
    database = await connect(location.parse(str(directory / "large.db")), may_create=True)
    try:
        await Schema(database).expand()
        engine = await _open_engine(database, directory)
        names = fleet.names(nodes)
        await engine.connect(*names)
        source = PlanSource("large", [PlanFile("large.yaml", write_plan(tasks))])
        request = PlanRequest(source, TargetsBody(["node*"]))
        with _measuring() as check:
            checked = await engine.plans.starter.check(request, OPERATOR)
        assert not checked.errors, checked.errors
        with _measuring() as start:
            run = (await engine.plans.starter.start(request, OPERATOR)).run.id
        async with _watching_loop(engine) as blocked:
            with _measuring() as take_on:
                await engine.drive()
        passes = [await _measure_passes(engine, run, ends, count) for ends, count in rounds]
        return LargeRun(checked.instances, check(), start(), take_on(), max(blocked) * 1e3, passes)
    finally:
        await database.close()


async def _open_engine(database: Database, directory: Path) -> PlanEngine:
    files = AuthorityFiles(directory / "authority")
    with files.created(Authority.new(database.clock.now())):
        pass
    return PlanEngine(database, await open_local_signer(files, database.clock), directory)


async def _measure_passes(engine: PlanEngine, run: str, ends: int, count: int) -> PassTimes:
    times_ms, most_turns = [], 0
    for _ in range(count):
        left = await _carry_out(engine, run, ends)
        await engine.renew()
        began_s = time.process_time()
        await engine.driver.advance(run)
        took_ms = (time.process_time() - began_s) * 1e3
        turns = len(await engine.database.read(engine.attempts.list_unclaimed, run)) - left
        # A pass gives so many turns at most; when more tasks may begin, other jobs have theirs before the next pass.
        times_ms.append(took_ms / max(1, math.ceil(turns / MAX_TURNS)))
        most_turns = max(most_turns, turns)
    return PassTimes(ends, count, most_turns, statistics.median(times_ms), max(times_ms))


async def _carry_out(engine: PlanEngine, run: str, count: int) -> int:
    """Let nodes do so many of the tasks that were ordered from them, or all of them if there are fewer; returns how many are left."""
    ordered = await engine.database.read(engine.attempts.list_unclaimed, run)
    if not ordered:
        raise SystemExit("no task is ordered from any node")
    await asyncio.gather(*(_carry_out_one(engine, key) for key in ordered[:count]))
    return max(0, len(ordered) - count)


async def _carry_out_one(engine: PlanEngine, key: AttemptKey) -> None:
    order, now = make_order_id(key.job, key.task, key.n), engine.database.clock.now()
    await engine.report(key.node, Claim(order, 1, "store", "boot"))
    await engine.report(key.node, TaskPhase(order, "pre-test", now))
    await engine.report(key.node, TaskEnded(order, now, True, "pre-test"))


@asynccontextmanager
async def _watching_loop(engine: PlanEngine) -> AsyncIterator[list[float]]:
    """How long the event loop did nothing but one thing, in CPU time of its thread. The lease of the server is renewed meanwhile."""
    blocked = [0.0]

    async def watch() -> None:
        while True:
            began_s = time.thread_time()
            await asyncio.sleep(WATCH_S)
            blocked.append(time.thread_time() - began_s)

    async def renew() -> None:
        while True:
            await engine.renew()
            await asyncio.sleep(1.0)

    tasks = [asyncio.create_task(work()) for work in (watch, renew)]
    try:
        yield blocked
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def _measuring() -> Iterator[Callable[[], Spent]]:
    """What the block takes; known after it."""
    spent: list[Spent] = []
    began_s, cpu_s = time.monotonic(), _cpu_s()
    yield lambda: spent[0]
    spent.append(Spent(time.monotonic() - began_s, _cpu_s() - cpu_s))


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
