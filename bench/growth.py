"""How the cost of operations over the fleet grows with its size: the cost of one node in a large fleet, compared with a small one.

    .venv/bin/python bench/growth.py [--quick]

The nodes have 20 roles, so that many nodes share a catalog; the code, the facts and the services are real, on SQLite on a disk. The figures
are CPU time of this process, which other programs on the machine disturb little. While a fleet is released, another writer commits one
small row after the other, and its longest wait is measured, in elapsed time. The goal is for the longest wait beside any of the fleets.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.report import Goal, finish, parse_quick, print_rows
from lab.compile_services import CompileServices
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.queries import QueryService
from precast.services.query.report_search import ReportSearch
from precast.services.query.resource_indexer import ResourceIndexer
from precast.services.query.resource_search import ResourceSearch
from precast.services.query.targets import TargetService
from precast.store.engine.connect import connect
from precast.store.engine.location import SqliteLocation
from precast.store.query.resource_index import ResourceIndex
from precast.store.reports.views import ReportReader
from precast.store.schema.schema import Schema
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.query.bodies import MAX_ROWS, QueryBody

QUICK, FULL = (250, 500, 1_000), (500, 1_000, 2_000, 4_000)
SUBMITTERS = 64
ROUNDS = 3
ACTOR = "person:bench"
EVERYONE = TargetsBody(all=True)
FILES = "".join(
    f"file {{ \"/etc/$kind/{n}\": content => \"{n} on ${{facts['networking']['hostname']}}\" }}\n" for n in range(20)
)
# Of one catalog: the files, the package, and the stage and class that every catalog has.
RESOURCES = 23
RATIO, RELEASE_MS, WAIT_MS = 1.5, 0.5, 500.0


class Costs(NamedTuple):
    """CPU time of one node in milliseconds; the longest wait of another writer in milliseconds."""

    nodes: int
    release: float
    rollback: float
    one_resource: float
    all_resources: float
    longest_wait: float


def code(word: str) -> dict[str, str]:
    return {"manifests/site.pp": f"$kind = $facts['role']\npackage {{ 'nginx': ensure => '{word}' }}\n{FILES}"}


@asynccontextmanager
async def fleet(count: int) -> AsyncIterator[CompileServices]:
    """A fleet with its catalogs staged."""
    with tempfile.TemporaryDirectory() as name:
        database = await connect(SqliteLocation(Path(name) / "precast.db"), may_create=True)
        await Schema(database).expand()
        site = CompileServices(database)
        await site.deploy(code("1.0"))
        numbers = iter(range(count))

        async def introduce_some() -> None:
            for number in numbers:
                host = f"node{number:05d}"
                await site.introduce(host)
                await site.submit(host, {"role": f"role{number % 20}", "networking": {"hostname": host}}, {})

        await asyncio.gather(*(introduce_some() for _ in range(SUBMITTERS)))
        await site.settle()
        try:
            yield site
        finally:
            await site.close()
            await database.close()


async def release(site: CompileServices) -> int:
    """Release all staged catalogs, and return the number of nodes that were released."""
    body, count = ReleaseBody(EVERYONE), 0
    while True:
        done = await site.releases.release(body, ACTOR)
        count += len(done.released)
        if done.after is None:
            return count
        body = msgspec.structs.replace(body, release=done.release, after=done.after)


async def roll_back(site: CompileServices) -> int:
    """Roll all nodes back, and return the number of nodes that were rolled back."""
    body, count = RollbackBody(EVERYONE), 0
    while True:
        done = await site.releases.rollback(body, ACTOR)
        count += len(done.released)
        if done.after is None:
            return count
        body = msgspec.structs.replace(body, release=done.release, after=done.after)


async def query(queries: QueryService, where: str) -> int:
    """Read all pages of a result, and return the number of rows."""
    after: str | None = ""
    count = 0
    while after is not None:
        page = await queries.answer(QueryBody("resources", where, limit=MAX_ROWS, after=after), ())
        after, count = page.after, count + len(page.rows)
    return count


async def cost_ms(count: int, work: Callable[[], Awaitable[int]], expected: int) -> float:
    """CPU time for one node. The work must have done as much as expected: an empty result would be fast."""
    started_s = time.process_time()
    done = await work()
    cost = (time.process_time() - started_s) / count * 1e3
    if done != expected:
        raise SystemExit(f"{done} instead of {expected}: this measures something else")
    return cost


async def longest_wait_ms(site: CompileServices, work: Awaitable[int], expected: int) -> float:
    """The longest time that a small write takes while the work is under way."""
    worst_s, task, number = 0.0, asyncio.ensure_future(work), 0
    while not task.done():
        started_s, number = time.perf_counter(), number + 1
        await site.introduce(f"other{number}")
        worst_s = max(worst_s, time.perf_counter() - started_s)
    if (done := await task) != expected:
        raise SystemExit(f"{done} instead of {expected}: this measures something else")
    return worst_s * 1e3


async def measure(count: int) -> Costs:
    async with fleet(count) as site:
        database = site.database
        index = ResourceIndex(database)
        indexer = ResourceIndexer(database, site.catalogs, index)
        targets = TargetService(KnownNodes(database, site.fleet, Sessions(database)), database.clock)
        reports = ReportSearch(database, ReportReader(database))
        queries = QueryService(database, targets, ResourceSearch(database, index), site.catalogs, reports)
        released = await cost_ms(count, lambda: release(site), count)
        while await indexer.work_off():
            pass
        one = min([await cost_ms(count, lambda: query(queries, "Package[nginx]"), count) for _ in range(ROUNDS)])
        everything = min([await cost_ms(count, lambda: query(queries, ""), count * RESOURCES) for _ in range(ROUNDS)])
        await site.deploy(code("2.0"))
        await site.settle()
        waited_ms = await longest_wait_ms(site, release(site), count)
        back = await cost_ms(count, lambda: roll_back(site), count)
        return Costs(count, released, back, one, everything, waited_ms)


def main() -> None:
    is_quick = parse_quick(__doc__)
    costs = [asyncio.run(measure(count)) for count in (QUICK if is_quick else FULL)]
    heads = ["nodes", "release ms", "rollback ms", "one resource ms", "all resources ms", "longest wait ms"]
    print_rows(heads, [(str(cost.nodes), *cost[1:]) for cost in costs])
    small, large = costs[0], costs[-1]
    one, everything = large.one_resource / small.one_resource, large.all_resources / small.all_resources
    worst, waited = max(one, everything), max(cost.longest_wait for cost in costs)
    back = large.rollback / small.rollback
    goals = [
        Goal("growth-query-resources", round(worst, 2), RATIO, worst <= RATIO),
        Goal("growth-release-ms-per-node", round(large.release, 3), RELEASE_MS, large.release <= RELEASE_MS),
        Goal("growth-release", round(large.release / small.release, 2), RATIO, large.release / small.release <= RATIO),
        Goal("growth-rollback", round(back, 2), RATIO, back <= RATIO),
        Goal("growth-longest-wait-ms", round(waited, 1), WAIT_MS, waited <= WAIT_MS),
    ]
    figures = {str(cost.nodes): {key: round(value, 4) for key, value in cost._asdict().items()} for cost in costs}
    finish("growth", is_quick, figures, goals)


if __name__ == "__main__":
    main()
