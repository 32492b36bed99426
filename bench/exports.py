"""Exported resources: how long a collector takes to learn of a release, and how often it is compiled.

    .venv/bin/python bench/exports.py [--quick]

The services of a server run with their pauses, on a SQLite file and on PostgreSQL; compile workers are processes of their own. A hundred
web nodes export to one monitor. `exports-latency` is the time from the call that releases one exporter to the collector's staged catalog,
with two seconds between the releases; the table also has releases that follow each other at once. `exports-compiles` is how often the
collector is compiled when all hundred are released together, by an operator or by an automatic release policy while their facts arrive.
Then a node leaves, and two nodes count each other's exports up in a loop under automatic releases.

`sshkey` everywhere is quadratic: every node exports its key and collects all others. The full run grows it to a thousand nodes, and then
changes one key. No tool that is installed here does the same: PuppetDB needs a JVM and a server that compiles on request, and a
collector's Puppet agent learns of an export at its next run, after up to 30 minutes. So nothing is measured beside us. The full run
writes bench/results/exports.json with the load of the machine; the quick one (under a minute) writes nothing.
"""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.report import Goal, finish, parse_quick, print_rows
from lab.export_site import ANN, ExportSite
from lab.postgres import PostgresServer
from precast.services.exports.loops import MAX_ROUNDS
from precast.services.exports.publishing import ExportPauses
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.exports import rounds
from precast.store.schema.schema import Schema
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import TargetsBody

EXPORTERS, DEADLINE_S, POLL_S, CALM_S = 100, 3_600.0, 0.01, 2.0
TARGET_LATENCY_S, TARGET_COMPILES = 2.0, 3.0
MONITORING = """
if $facts['role'] == 'web' {
  @@file { "/etc/monitored/${facts['networking']['hostname']}":
    content => "host ${facts['networking']['ip']}\\n", tag => 'monitoring' }
}
if $facts['role'] == 'monitor' { File <<| tag == 'monitoring' |>> }
"""
KEYS = """
@@sshkey { $facts['networking']['hostname']: ensure => present, type => 'ssh-ed25519', key => $facts['networking']['ip'] }
Sshkey <<| |>>
"""
LOOP = """
define ping(Integer $n) { @@pong { 'p': n => $n + 1 } }
define pong(Integer $n) { unless $facts['seed'] { @@ping { 'p': n => $n + 1 } } }
case $facts['role'] {
  'first': { if $facts['seed'] { @@ping { 'p': n => 0 } } Pong <<| |>> }
  default: { Ping <<| |>> }
}
"""


class Size(NamedTuple):
    """The size of a run: releases that are measured, and fleets with `sshkey` everywhere."""

    releases: int
    fleets: list[int]


QUICK, FULL = Size(3, [20]), Size(30, [100, 300, 1_000])


class Monitoring(NamedTuple):
    """One monitor and its exporters on one database: seconds and compiles."""

    database: str
    calm_s: list[float]
    dense_s: list[float]
    together: int
    automatic: int
    leaving_s: float


class Keys(NamedTuple):
    """A fleet with `sshkey` everywhere: the first release of all, and then one changed key."""

    nodes: int
    first_s: float
    first_compiles: int
    changed_s: float
    changed_compiles: int


class Loop(NamedTuple):
    seconds: float
    releases: int
    members: int


class RunningSite(ExportSite):
    """The background tasks of a server work off what is requested."""

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for work in (self.facts.run, self.decisions.run, self.compiler.run, self.rounds.run):
                tasks.create_task(work("bench"))

    async def until_idle(self) -> None:
        """Wait until nothing is queued, due now or later."""
        end_s, quiet = time.monotonic() + DEADLINE_S, 0
        while quiet < 3:
            if time.monotonic() > end_s:
                raise SystemExit("the queue does not become empty")
            quiet = 0 if await self.work.list_waiting() else quiet + 1
            await asyncio.sleep(POLL_S * 2)

    async def count(self, work: Any) -> int:
        """The compiles that a change leads to."""
        before = self.compiler.compiles
        await work
        await self.until_idle()
        return self.compiler.compiles - before

    async def measure(self, work: Any, node: str) -> float:
        """The seconds until the staged catalog of a node is another one."""
        before, began_s = (await self.staged(node)).digest, time.monotonic()
        await work
        while (await self.staged(node)).digest == before:
            if time.monotonic() > began_s + DEADLINE_S:
                raise SystemExit(f"{node} gets no other catalog")
            await asyncio.sleep(POLL_S)
        return time.monotonic() - began_s

    async def release_all(self) -> None:
        body = ReleaseBody(TargetsBody(all=True))
        done = await self.releases.release(body, ANN)
        while done.after is not None:
            body = ReleaseBody(TargetsBody(all=True), release=done.release, after=done.after)
            done = await self.releases.release(body, ANN)


@asynccontextmanager
async def running(location: Location, code: str) -> AsyncIterator[RunningSite]:
    database = await connect(location, may_create=True)
    await Schema(database).expand()
    site = RunningSite(database, pauses=ExportPauses())
    await site.deploy({"manifests/site.pp": code})
    serving = asyncio.create_task(site.serve())
    try:
        yield site
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await site.close()
        await database.close()


async def measure_monitoring(location: Location, manual: Location, name: str, size: Size) -> Monitoring:
    async with running(location, MONITORING) as site:
        await site.release_automatically()
        await site.join("monitor", "monitor")
        await site.until_idle()
        # Each exporter has a title of its own, and so one compile; all others are of the monitor.
        automatic = await site.count(_join(site)) - EXPORTERS
    async with running(manual, MONITORING) as site:
        await site.join("monitor", "monitor")
        await _join(site)
        await site.until_idle()
        together = await site.count(site.release_all())
        _expect("resources of the monitor", len(await site.collected("monitor", "File")), EXPORTERS)
        calm = [await _release_changed(site, number, CALM_S) for number in range(size.releases)]
        dense = [await _release_changed(site, size.releases + number, 0.0) for number in range(size.releases)]
        leaving_s = await site.measure(site.deactivate("web99"), "monitor")
        _expect("resources of the monitor", len(await site.collected("monitor", "File")), EXPORTERS - 1)
    return Monitoring(name, calm, dense, together, automatic, leaving_s)


async def _join(site: RunningSite) -> None:
    await asyncio.gather(*(site.join(f"web{number}", "web") for number in range(EXPORTERS)))


async def _release_changed(site: RunningSite, number: int, pause_s: float) -> float:
    """Give an exporter another address, and measure its release."""
    name = f"web{number}"
    await site.measure(site.join(name, "web", f"10.1.0.{number}"), name)
    await asyncio.sleep(pause_s)
    return await site.measure(site.release(name), "monitor")


async def measure_keys(location: Location, nodes: int) -> Keys:
    async with running(location, KEYS) as site:
        names = [f"node{number:04d}" for number in range(nodes)]
        for first in range(0, nodes, 50):
            await asyncio.gather(*(site.join(name, "any", f"key-{name}") for name in names[first : first + 50]))
        await site.until_idle()
        began_s = time.monotonic()
        first_compiles = await site.count(site.release_all())
        first_s = time.monotonic() - began_s
        _expect("keys of a node", len(await site.collected(names[0], "Sshkey", "key")), nodes)
        await site.measure(site.join(names[0], "any", "another key"), names[0])
        began_s = time.monotonic()
        changed_compiles = await site.count(site.release(names[0]))
        return Keys(nodes, first_s, first_compiles, time.monotonic() - began_s, changed_compiles)


async def measure_loop(location: Location) -> Loop:
    async with running(location, LOOP) as site:
        await site.release_automatically()
        await site.join("first", "first", seed=True)
        await site.join("second", "second")
        await site.until_idle()
        began_s, before = time.monotonic(), await _count_releases(site)
        await site.join("first", "first", seed=False)
        await site.until_idle()
        (stopped,) = await site.database.read(rounds.list_stopped, "", 10)
        return Loop(time.monotonic() - began_s, await _count_releases(site) - before, len(stopped.members))


async def _count_releases(site: RunningSite) -> int:
    steps = [await site.database.read(site.catalogs.released.list_history, name, 100) for name in ("first", "second")]
    return sum(map(len, steps))


def _expect(what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise SystemExit(f"{what}: {found} instead of {wanted}: this measures something else")


async def measure_all(directory: Path, size: Size) -> tuple[list[Monitoring], list[Keys], Loop]:
    numbers = iter(range(1_000))

    def sqlite() -> Location:
        return SqliteLocation(directory / f"precast{next(numbers)}.db")

    with PostgresServer() as postgres:

        def postgresql() -> Location:
            return PostgresLocation(postgres.url(postgres.create_database()))

        monitoring = [
            await measure_monitoring(make(), make(), name, size)
            for name, make in (("SQLite", sqlite), ("PostgreSQL", postgresql))
        ]
        loop = await measure_loop(sqlite())
        return monitoring, [await measure_keys(sqlite(), nodes) for nodes in size.fleets], loop


def main() -> None:
    is_quick = parse_quick(__doc__)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="precast-exports-") as name:
        monitoring, keys, loop = asyncio.run(measure_all(Path(name), QUICK if is_quick else FULL))
    _print_monitoring(monitoring)
    _print_keys(keys)
    print(f"a loop of {loop.members} nodes: {loop.releases} releases in {loop.seconds:.1f} s, then it is held back")
    figures = {
        "exporters": EXPORTERS,
        "monitoring": [_describe(each) for each in monitoring],
        "sshkey": [{name: round(value, 2) for name, value in each._asdict().items()} for each in keys],
        "loop": {name: round(value, 2) for name, value in loop._asdict().items()},
        "load": round(load, 1),
    }
    latency_s = max(statistics.median(each.calm_s) for each in monitoring)
    compiles = float(max(max(each.together, each.automatic) for each in monitoring))
    goals = [
        Goal("exports-latency", round(latency_s, 2), TARGET_LATENCY_S, latency_s <= TARGET_LATENCY_S),
        Goal("exports-compiles", compiles, TARGET_COMPILES, compiles <= TARGET_COMPILES),
        Goal("exports-loop", float(loop.releases), 2.0 * MAX_ROUNDS + 1, loop.releases <= 2 * MAX_ROUNDS + 1),
    ]
    finish("exports", is_quick, figures, goals)


def _describe(each: Monitoring) -> dict[str, Any]:
    return {
        "database": each.database,
        "latency_p50_s": round(statistics.median(each.calm_s), 2),
        "latency_max_s": round(max(each.calm_s), 2),
        "dense_p50_s": round(statistics.median(each.dense_s), 2),
        "compiles_together": each.together,
        "compiles_automatic": each.automatic,
        "leaving_s": round(each.leaving_s, 2),
    }


def _print_monitoring(monitoring: list[Monitoring]) -> None:
    heads = ["100 exporters, one monitor", "p50 s", "max s", "at once p50 s", "compiles", "automatic", "leaves s"]
    print_rows(heads, [list(_describe(each).values()) for each in monitoring])
    print()


def _print_keys(keys: list[Keys]) -> None:
    heads = ["sshkey on every node", "all released s", "compiles", "ms each", "one key changed s", "compiles"]
    print_rows(
        heads,
        [
            [
                f"{each.nodes:,}",
                each.first_s,
                each.first_compiles,
                each.first_s / each.first_compiles * 1e3,
                each.changed_s,
                each.changed_compiles,
            ]
            for each in keys
        ],
    )
    print()


if __name__ == "__main__":
    main()
