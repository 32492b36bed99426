"""How fast the server stores reports of runs, from the node's socket on, compared with PuppetDB.

    .venv/bin/python bench/reports.py [--quick]

A real `precast server` runs on SQLite, and on PostgreSQL with a process for each processor; in another process many nodes, each with its
own certificate and session, report runs of 460 resources of which ten changed, with diffs, as the agent does: start, events, end. A report
counts when it is stored and acknowledged; the benchmark counts the rows of the database. "Quiet" is a run without a change, as one record.
PuppetDB (Debian's, without TLS) receives the same runs as its own commands; its time ends when its queue is empty. In the burst a whole
fleet reports at once runs in which 500 resources changed; the benchmark measures the server's memory and counts every event. CPU time
excludes the load.
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

from bench.facts import DEBIAN_PROGRAMS, enrol, family, family_cpu_s, wait_until
from bench.load import Load
from bench.report import Goal, finish, parse_quick, print_rows
from lab import puppetdb
from lab.postgres import PostgresServer
from lab.report_load import ReportBatch
from lab.site import Site

TIMES_TARGET = 50.0
# The memory that the server may need in a burst beyond its memory when all nodes are connected.
BURST_TARGET_MB = 300.0
BURST_EVENTS = 500
# On PostgreSQL, a process for each processor.
WORKERS = ("--workers", str(os.cpu_count()))


class Size(NamedTuple):
    """The size of a benchmark run."""

    nodes: int
    rounds: int
    burst_nodes: int
    peer_nodes: int
    peer_rounds: int


QUICK, FULL = Size(100, 10, 100, 0, 0), Size(400, 20, 1_000, 100, 3)


class ServerUnderLoad(NamedTuple):
    """A server under load and its database."""

    whose: str
    server_pid: int
    database_pid: int | None
    count: Callable[[str], int]

    def cpu_s(self) -> tuple[float, float]:
        return family_cpu_s(self.server_pid), family_cpu_s(self.database_pid) if self.database_pid else 0.0


class Measurement(NamedTuple):
    """The measurement of one sort of runs on one server."""

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
    """The measurement of a fleet that reports at once."""

    whose: str
    runs: int
    seconds: float
    events_per_s: float
    grown_mb: float
    lost: int


REPORTS = "SELECT count(*) FROM report WHERE state = 'ended' AND got = events"
EVENTS = "SELECT count(*) FROM report_event"


@contextmanager
def on_sqlite(directory: Path) -> Iterator[tuple[Site, ServerUnderLoad]]:
    # One process, because SQLite has one writer, and several processes would wait for each other.
    with Site(directory) as site:
        connection = sqlite3.connect(f"file:{directory / 'precast.db'}?mode=ro", uri=True, isolation_level=None)

        def ask(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0])

        yield site, ServerUnderLoad("precast, SQLite", site.pid, None, ask)
        connection.close()


@contextmanager
def on_postgres(directory: Path, server: PostgresServer) -> Iterator[tuple[Site, ServerUnderLoad]]:
    url = server.url(server.create_database())
    with Site(directory, url, words=WORKERS) as site, asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(url))

        def ask(sql: str) -> int:
            return int(runner.run(connection.fetchval(sql)))

        yield (
            site,
            ServerUnderLoad(f"precast, PostgreSQL {connection.get_server_version().major}", site.pid, server.pid, ask),
        )
        runner.run(connection.close())


def measure_batch(load: Load, side: ServerUnderLoad, sort: str, batch: ReportBatch) -> Measurement:
    """Send a batch of reports, and check that the database has all of them."""
    before, cpu_before = side.count(REPORTS), side.cpu_s()
    sent = load.send(batch)
    stored = side.count(REPORTS) - before
    if stored != sent.sent:
        raise RuntimeError(f"{sent.sent} runs were acknowledged, {stored} are stored")
    server_s, database_s = (now - then for now, then in zip(side.cpu_s(), cpu_before, strict=True))
    wall_s = sent.ended_s - sent.started_s
    found = Measurement(side.whose, sort, stored, stored / wall_s, server_s / stored * 1e3, database_s / stored * 1e3)
    print(f"{found.whose}, {sort}: {found.per_s:,.0f} reports/s", file=sys.stderr, flush=True)
    return found


def measure_ours(site: Site, side: ServerUnderLoad, size: Size) -> list[Measurement]:
    enrol(site, size.nodes)
    load = Load("lab.report_load", "precast", site.port, size.nodes, site.directory)
    try:
        load.send(ReportBatch(first=1_000_000, rounds=1))  # warm-up: the server has seen every certificate afterwards
        return [
            measure_batch(load, side, "10 changed", ReportBatch(rounds=size.rounds)),
            measure_batch(load, side, "quiet", ReportBatch(first=1_000, rounds=size.rounds, changed=0)),
        ]
    finally:
        load.close()


def measure_burst(site: Site, side: ServerUnderLoad, size: Size) -> Burst:
    enrol(site, size.burst_nodes)
    load = Load("lab.report_load", "precast", site.port, size.burst_nodes, site.directory)
    try:
        processes = list(family(side.server_pid))
        before, at_rest_mb = side.count(EVENTS), _memory_mb(processes, "VmRSS")
        for pid in processes:
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets the peak
        sent = load.send(ReportBatch(first=5_000, changed=BURST_EVENTS, resources=BURST_EVENTS, under_way=0))
        grown_mb = _memory_mb(processes, "VmHWM") - at_rest_mb
        wall_s = sent.ended_s - sent.started_s
        events = side.count(EVENTS) - before
        lost = size.burst_nodes * BURST_EVENTS - events
        return Burst(side.whose, sent.sent, wall_s, events / wall_s, grown_mb, lost)
    finally:
        load.close()


def _memory_mb(processes: list[int], name: str) -> float:
    """The memory of all processes. Peaks may occur at different times, so their sum is an upper bound."""
    statuses = [Path(f"/proc/{pid}/status").read_text() for pid in processes]
    matches = [re.search(rf"{name}:\s+(\d+) kB", status) for status in statuses]
    return sum(int(match[1]) for match in matches if match is not None) / 1024


def measure_puppetdb(programs: Path, size: Size) -> Measurement:
    """Measure the same runs as PuppetDB's commands. The first round, in which the JVM still compiles, does not count."""
    with puppetdb.PuppetDb(programs) as peer:
        load = Load("lab.report_load", "puppetdb", peer.port, size.peer_nodes)
        try:
            load.send(ReportBatch())
            wait_until(lambda: not peer.waiting())
            before, cpu_before = peer.processed(), (family_cpu_s(peer.pid), family_cpu_s(peer.postgres.pid))
            wall_s = 0.0
            for _ in range(size.peer_rounds):
                sent = load.send(ReportBatch())
                wall_s += wait_until(lambda: not peer.waiting()) - sent.started_s
            stored = peer.processed() - before
            cpu_s = family_cpu_s(peer.pid) - cpu_before[0], family_cpu_s(peer.postgres.pid) - cpu_before[1]
            whose = f"PuppetDB {peer.version}"
            return Measurement(
                whose, "10 changed", stored, stored / wall_s, cpu_s[0] / stored * 1e3, cpu_s[1] / stored * 1e3
            )
        finally:
            load.close()


def goals(rows: list[Measurement], bursts: list[Burst], why: str | None) -> list[Goal]:
    ours = min(row.per_s for row in rows if row.whose.startswith("precast") and row.sort == "10 changed")
    theirs = next((row.per_s for row in rows if row.whose.startswith("PuppetDB")), None)
    times = None if theirs is None else ours / theirs
    grown, lost = max(burst.grown_mb for burst in bursts), sum(burst.lost for burst in bursts)
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
    rows: list[Measurement] = []
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
        assert programs is not None, "checked above"
        rows.append(measure_puppetdb(programs, size))
    print_rows(["runs of 460 resources", "sort", "reports", "per s", "server CPU ms", "database CPU ms"], rows)
    print()
    print_rows([f"runs of {BURST_EVENTS} events at once", "runs", "s", "events/s", "grown MB", "lost"], bursts)
    if why:
        print(f"\nnot measured: {why}")
    figures = {
        "reports": {f"{row.whose}, {row.sort}": row.figures for row in rows},
        "burst": {burst.whose: burst._asdict() for burst in bursts},
        "seconds": round(time.monotonic() - started_s, 1),
    }
    finish("reports", is_quick, figures, goals(rows, bursts, why))


if __name__ == "__main__":
    main()
