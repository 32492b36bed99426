"""Reports of runs, from the node's socket until they are stored; with PuppetDB beside it.

    .venv/bin/python bench/reports.py [--quick]

A real `precast server` on SQLite, and on PostgreSQL with a process for each processor; in another process many nodes, each with its own
certificate and session, tell of runs of 460 resources of which ten changed, with diffs, as the agent tells them: beginning, events, end.
A report counts when it is stored and acknowledged; the database is asked how many there are. "Quiet" is the run in which nothing
changed, as one record. PuppetDB (Debian's, without TLS) gets the same runs as its own commands; its time ends when its queue is empty.
Then the burst: a fleet tells at once of runs in which 500 resources changed; the server's memory is looked at, and every event is
counted. CPU is of all but the load.
"""

import asyncio
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import asyncpg

from bench.facts import DEBIAN_PROGRAMS, enrol, family, family_cpu_s, until
from bench.load import Load
from bench.report import Goal, finish, parse_quick, print_rows
from lab import puppetdb
from lab.postgres import PostgresServer
from lab.report_load import Order
from lab.site import Site

TIMES_TARGET = 50.0
# What the server may need in a burst beyond what it has when all are connected.
BURST_TARGET_MB = 300.0
BURST_EVENTS = 500
# On PostgreSQL, a process for each processor.
WORKERS = ("--workers", str(os.cpu_count()))


class Size(NamedTuple):
    """How much a run does."""

    nodes: int
    rounds: int
    burst_nodes: int
    peer_nodes: int
    peer_rounds: int


QUICK, FULL = Size(100, 10, 100, 0, 0), Size(400, 20, 1_000, 100, 3)


class Side(NamedTuple):
    """A server under load and its database."""

    whose: str
    server_pid: int
    database_pid: int | None
    count: Callable[[str], int]

    def cpu_s(self) -> tuple[float, float]:
        return family_cpu_s(self.server_pid), family_cpu_s(self.database_pid) if self.database_pid else 0.0


class Measured(NamedTuple):
    """One sort of runs on one server."""

    whose: str
    sort: str
    reports: int
    per_s: float
    server_ms: float
    database_ms: float

    @property
    def figures(self) -> dict[str, float]:
        named = {"per_s": self.per_s, "server_cpu_ms": self.server_ms, "database_cpu_ms": self.database_ms}
        return {"reports": self.reports, **{name: round(value, 3) for name, value in named.items()}}


class Burst(NamedTuple):
    """A fleet that tells at once."""

    whose: str
    runs: int
    seconds: float
    events_per_s: float
    grown_mb: float
    lost: int


REPORTS = "SELECT count(*) FROM report WHERE state = 'ended' AND got = events"
EVENTS = "SELECT count(*) FROM report_event"


@contextmanager
def on_sqlite(directory: Path) -> Iterator[tuple[Site, Side]]:
    # One process: what writes is one thread anyhow, and several would wait for each other.
    with Site(directory) as site:
        connection = sqlite3.connect(f"file:{directory / 'precast.db'}?mode=ro", uri=True, isolation_level=None)

        def ask(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0])

        yield site, Side("precast, SQLite", site.pid, None, ask)
        connection.close()


@contextmanager
def on_postgres(directory: Path, server: PostgresServer) -> Iterator[tuple[Site, Side]]:
    url = server.url(server.create_database())
    with Site(directory, url, words=WORKERS) as site, asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(url))

        def ask(sql: str) -> int:
            return int(runner.run(connection.fetchval(sql)))

        yield site, Side(f"precast, PostgreSQL {connection.get_server_version().major}", site.pid, server.pid, ask)
        runner.run(connection.close())


def measured(load: Load, side: Side, sort: str, order: Order) -> Measured:
    """Tell, and see that all of it is there."""
    before, cpu_before = side.count(REPORTS), side.cpu_s()
    sent = load.send(order)
    stored = side.count(REPORTS) - before
    if stored != sent.sent:
        raise RuntimeError(f"{sent.sent} runs were acknowledged, {stored} are stored")
    server_s, database_s = (now - then for now, then in zip(side.cpu_s(), cpu_before, strict=True))
    wall_s = sent.ended_s - sent.started_s
    found = Measured(side.whose, sort, stored, stored / wall_s, server_s / stored * 1e3, database_s / stored * 1e3)
    print(f"{found.whose}, {sort}: {found.per_s:,.0f} reports/s", file=sys.stderr, flush=True)
    return found


def measure_ours(site: Site, side: Side, size: Size) -> list[Measured]:
    enrol(site, size.nodes)
    load = Load("lab.report_load", "precast", site.port, size.nodes, site.directory)
    try:
        load.send(Order(first=1_000_000, rounds=1))  # whose certificates are met by now
        return [
            measured(load, side, "10 changed", Order(rounds=size.rounds)),
            measured(load, side, "quiet", Order(first=1_000, rounds=size.rounds, changed=0)),
        ]
    finally:
        load.close()


def measure_burst(site: Site, side: Side, size: Size) -> Burst:
    enrol(site, size.burst_nodes)
    load = Load("lab.report_load", "precast", site.port, size.burst_nodes, site.directory)
    try:
        processes = list(family(side.server_pid))
        before, at_rest_mb = side.count(EVENTS), _memory_mb(processes, "VmRSS")
        for one in processes:
            Path(f"/proc/{one}/clear_refs").write_text("5")  # the peak from now on
        sent = load.send(Order(first=5_000, changed=BURST_EVENTS, resources=BURST_EVENTS, under_way=0))
        grown_mb = _memory_mb(processes, "VmHWM") - at_rest_mb
        wall_s = sent.ended_s - sent.started_s
        events = side.count(EVENTS) - before
        lost = size.burst_nodes * BURST_EVENTS - events
        return Burst(side.whose, sent.sent, wall_s, events / wall_s, grown_mb, lost)
    finally:
        load.close()


def _memory_mb(processes: list[int], name: str) -> float:
    """Of all of them; the peaks of several need not have been at one time, so their sum is never too little."""
    statuses = [Path(f"/proc/{one}/status").read_text() for one in processes]
    found = [re.search(rf"{name}:\s+(\d+) kB", status) for status in statuses]
    return sum(int(one[1]) for one in found if one is not None) / 1024


def measure_puppetdb(programs: Path, size: Size) -> Measured:
    """The same runs as PuppetDB's commands; the first round, in which its machine is still compiling, does not count."""
    with puppetdb.PuppetDb(programs) as peer:
        load = Load("lab.report_load", "puppetdb", peer.port, size.peer_nodes)
        try:
            load.send(Order())
            until(lambda: not peer.waiting())
            before, cpu_before = peer.processed(), (family_cpu_s(peer.pid), family_cpu_s(peer.postgres.pid))
            wall_s = 0.0
            for _ in range(size.peer_rounds):
                sent = load.send(Order())
                wall_s += until(lambda: not peer.waiting()) - sent.started_s
            stored = peer.processed() - before
            cpu_s = family_cpu_s(peer.pid) - cpu_before[0], family_cpu_s(peer.postgres.pid) - cpu_before[1]
            whose = f"PuppetDB {peer.version}"
            return Measured(
                whose, "10 changed", stored, stored / wall_s, cpu_s[0] / stored * 1e3, cpu_s[1] / stored * 1e3
            )
        finally:
            load.close()


def goals(rows: list[Measured], bursts: list[Burst], why: str | None) -> list[Goal]:
    ours = min(row.per_s for row in rows if row.whose.startswith("precast") and row.sort == "10 changed")
    theirs = next((row.per_s for row in rows if row.whose.startswith("PuppetDB")), None)
    times = None if theirs is None else ours / theirs
    grown, lost = max(one.grown_mb for one in bursts), sum(one.lost for one in bursts)
    return [
        Goal(
            "reports-vs-puppetdb",
            times and round(times, 1),
            TIMES_TARGET,
            None if times is None else times >= TIMES_TARGET,
            why,
        ),
        Goal("reports-burst", round(grown, 1), BURST_TARGET_MB, grown <= BURST_TARGET_MB and not lost),
    ]


def main() -> None:
    is_quick = parse_quick(__doc__)
    size = QUICK if is_quick else FULL
    rows: list[Measured] = []
    bursts: list[Burst] = []
    programs = DEBIAN_PROGRAMS if DEBIAN_PROGRAMS.exists() else None
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        with on_sqlite(Path(name) / "sqlite") as (site, side):
            rows += measure_ours(site, side, size)
        with on_sqlite(Path(name) / "burst") as (site, side):
            bursts.append(measure_burst(site, side, size))
        with PostgresServer(programs=programs) as server:
            with on_postgres(Path(name) / "postgres", server) as (site, side):
                rows += measure_ours(site, side, size)
            if not is_quick:
                with on_postgres(Path(name) / "postgres-burst", server) as (site, side):
                    bursts.append(measure_burst(site, side, size))
    why = "PuppetDB takes minutes: only in a full run" if is_quick else puppetdb.why_missing()
    if why is None and programs is None:
        why = "PostgreSQL 15 is not installed (apt-get install postgresql-15)"
    if why is None:
        assert programs is not None, "said above"
        rows.append(measure_puppetdb(programs, size))
    print_rows(["runs of 460 resources", "sort", "reports", "per s", "server CPU ms", "database CPU ms"], rows)
    print()
    print_rows([f"runs of {BURST_EVENTS} events at once", "runs", "s", "events/s", "grown MB", "lost"], bursts)
    if why:
        print(f"\nnot measured: {why}")
    figures = {
        "reports": {f"{row.whose}, {row.sort}": row.figures for row in rows},
        "burst": {one.whose: one._asdict() for one in bursts},
        "seconds": round(time.monotonic() - started_s, 1),
    }
    finish("reports", is_quick, figures, goals(rows, bursts, why))


if __name__ == "__main__":
    main()
