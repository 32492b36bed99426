"""Facts, from the node's socket until they are persisted and decided upon; with PuppetDB beside it.

    .venv/bin/python bench/facts.py [--quick]

A real `precast server` on SQLite and on PostgreSQL; in another process many nodes send distinct sets of 20 KB, each over its own
connection with its own certificate. They come as the agent's daemon sends them: as numbered records of the node's session, a websocket
over TLS 1.3 on the HTTPS port. The goals are about those. As `precast agent facts` sends them, in HTTPS requests, they are measured beside
that ("by request"). A set counts when it is stored with its decision, not when it is acknowledged: the server's database is asked.
"New" is the first set of a node, "changed" differs from the one before in ten values, "unchanged" is the digest with what
changes by nature; each node sends one after another, until all have sent theirs. PuppetDB (Debian's, without TLS) gets the same sets as its
own commands; its time ends when its queue is empty. On PostgreSQL our server has a process for each processor. Its PostgreSQL and ours are
the same programs with the same settings. All processes share the processors; CPU is of all but the load.
"""

import asyncio
import os
import sqlite3
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import asyncpg

from bench.load import Load
from bench.report import Goal, finish, parse_quick, print_rows
from lab import puppetdb
from lab.fact_documents import name_of
from lab.fact_load import Order
from lab.postgres import PostgresServer
from lab.site import Site
from precast.agent.enrolment import Identity
from precast.base.errors import LimitedError

DEBIAN_PROGRAMS = Path("/usr/lib/postgresql/15/bin")
TIMES_TARGET, UNCHANGED_TARGET, VOLATILE_TARGET = 50.0, 5.0, 2048.0
DEADLINE_S = 600.0
# As a server is run beside PostgreSQL. SQLite has one writer, and another process would only wait for it.
WORKERS = ["--workers", str(os.cpu_count())]


class Size(NamedTuple):
    """How much a run does."""

    nodes: int
    rounds: int
    peer_nodes: int
    peer_rounds: int


QUICK, FULL = Size(150, 3, 0, 0), Size(400, 6, 100, 2)


class Measured(NamedTuple):
    """One sort of sets on one server."""

    whose: str
    sort: str
    sets: int
    per_s: float
    server_ms: float
    database_ms: float

    @property
    def figures(self) -> dict[str, float]:
        named = {"per_s": self.per_s, "server_cpu_ms": self.server_ms, "database_cpu_ms": self.database_ms}
        return {"sets": self.sets, **{name: round(value, 3) for name, value in named.items()}}


class Side(NamedTuple):
    """A server under load: whose it is, how much of its work is left and done, and what its log has grown to."""

    whose: str
    server_pid: int
    database_pid: int | None
    waiting: Callable[[], int]
    decided: Callable[[], int]
    log_bytes: Callable[[], int]

    def cpu_s(self) -> tuple[float, float]:
        return family_cpu_s(self.server_pid), family_cpu_s(self.database_pid) if self.database_pid else 0.0


DECIDED = "SELECT (SELECT count(*) FROM fact_set) + (SELECT count(*) FROM fact_history)"
WAITING = "SELECT count(*) FROM fact_inbox"
WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"


@contextmanager
def on_sqlite(directory: Path) -> Iterator[tuple[Site, Side]]:
    with Site(directory) as site:
        database = directory / "precast.db"
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, isolation_level=None)
        # While somebody reads what is only in the log, that is not begun anew: the frames it has more are what was written.
        reader = sqlite3.connect(f"file:{database}?mode=ro", uri=True, isolation_level=None)

        # Open until the end: to close it would drop every lock that this process has on it, the reader's too.
        index = os.open(database.with_name("precast.db-shm"), os.O_RDONLY)

        def frames() -> tuple[int, int]:
            """The number of the last frame, and of the last that is in the file too, from the log's index."""
            head = os.pread(index, 100, 0)
            return struct.unpack_from("=I", head, 16)[0], struct.unpack_from("=I", head, 96)[0]

        def log_bytes() -> int:
            if not reader.in_transaction:
                until(lambda: frames()[0] != frames()[1])  # a server notes every few seconds that it is there
                reader.execute("BEGIN")
                reader.execute(WAITING).fetchone()
            return frames()[0] * (4096 + 24)  # a frame is a page with a head

        def ask(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0])

        yield site, Side("precast, SQLite", site.pid, None, lambda: ask(WAITING), lambda: ask(DECIDED), log_bytes)
        reader.close()
        connection.close()
        os.close(index)


@contextmanager
def on_postgres(directory: Path, server: PostgresServer) -> Iterator[tuple[Site, Side]]:
    url = server.url(server.create_database())
    with Site(directory, url, words=WORKERS) as site, asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(url))

        def ask(sql: str) -> int:
            return int(runner.run(connection.fetchval(sql)))

        whose = f"precast, PostgreSQL {connection.get_server_version().major}"
        yield site, Side(whose, site.pid, server.pid, lambda: ask(WAITING), lambda: ask(DECIDED), lambda: ask(WAL))
        runner.run(connection.close())


def family(pid: int) -> dict[int, float]:
    """A process and all that it has started and that live, each with its CPU and that of its dead children."""
    tick = os.sysconf("SC_CLK_TCK")
    found: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(stat.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / tick)
    members = {pid}
    while more := {child for child, (parent, _) in found.items() if parent in members} - members:
        members |= more
    return {one: found[one][1] for one in members if one in found}


def family_cpu_s(pid: int) -> float:
    """CPU of a process and of all that it has started, living or dead."""
    return sum(family(pid).values())


def until(is_done: Callable[[], bool]) -> float:
    """Wait; when it was so, on the clock of the load."""
    end_s = time.monotonic() + DEADLINE_S
    while not is_done():
        if time.monotonic() > end_s:
            raise RuntimeError("the sets were not worked off in time")
        time.sleep(0.01)
    return time.monotonic()


def measured(load: Load, side: Side, sort: str, orders: list[Order]) -> Measured:
    """Send, wait until everything is decided upon, and so on. What was replaced before anyone looked at it does not count."""
    before, cpu_before = side.decided(), side.cpu_s()
    wall_s, sets = 0.0, 0
    for order in orders:
        sent = load.send(order)
        wall_s += until(lambda: not side.waiting()) - sent.started_s
        sets += sent.sent
    if orders[0].is_whole:
        sets = side.decided() - before
    server_s, database_s = (now - then for now, then in zip(side.cpu_s(), cpu_before, strict=True))
    found = Measured(side.whose, sort, sets, sets / wall_s, server_s / sets * 1e3, database_s / sets * 1e3)
    print(f"{found.whose}, {sort}: {found.per_s:,.0f} sets/s", file=sys.stderr, flush=True)
    return found


def measure_ours(site: Site, side: Side, size: Size) -> tuple[list[Measured], float]:
    """New, changed and unchanged sets; and the bytes written for a set of which only uptime and memory have changed."""
    enrol(site, size.nodes)
    found: list[Measured] = []
    quiet = 5 * size.rounds  # so that they take about as long
    with closing(Load("lab.fact_load", "sessions", site.port, size.nodes, site.directory)) as load:
        found.append(measured(load, side, "new", [Order()]))
        found.append(measured(load, side, "changed", changed_from(0, size.rounds)))
        before = side.log_bytes()
        found.append(measured(load, side, "unchanged", unchanged_from(size.rounds, 0, quiet)))
        written = (side.log_bytes() - before) / found[-1].sets
    with closing(Load("lab.fact_load", "requests", site.port, size.nodes, site.directory)) as load:
        found.append(measured(load, side, "changed, by request", changed_from(size.rounds, 2)))
        found.append(measured(load, side, "unchanged, by request", unchanged_from(size.rounds + 2, quiet, 10)))
    return found, written


def changed_from(upgrades: int, rounds: int) -> list[Order]:
    return [Order(upgrades=upgrades + 1, rounds=rounds)]


def unchanged_from(upgrades: int, ticks: int, rounds: int) -> list[Order]:
    return [Order(upgrades=upgrades, tick=60 * (ticks + 1), is_whole=False, rounds=rounds)]


def measure_puppetdb(programs: Path, size: Size) -> list[Measured]:
    """The same sets as PuppetDB's commands. It is not warmed up: the figures favour us where its machine is still compiling."""
    with puppetdb.PuppetDb(programs) as peer:
        load = Load("lab.fact_load", "puppetdb", peer.port, size.peer_nodes)
        whose = f"PuppetDB {peer.version}"
        side = Side(whose, peer.pid, peer.postgres.pid, peer.waiting, peer.processed, lambda: 0)
        try:
            return [
                measured(load, side, "new", [Order()]),
                measured(load, side, "changed", [Order(upgrades=1 + at) for at in range(size.peer_rounds)]),
            ]
        finally:
            load.close()


def enrol(site: Site, count: int) -> None:
    token = site.run("token", "enrol", "*.example.org", "--uses", str(count))["token"]

    def one(node: int) -> None:
        while True:
            try:
                Identity(site.directory / "nodes" / name_of(node)).enrol(site.url, token, name_of(node))
            except LimitedError:  # all of them come from one address
                time.sleep(0.5)
            else:
                return

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(one, range(count)))


def goals(rows: list[Measured], written: dict[str, float], why: str | None) -> list[Goal]:
    rates = {(row.whose.partition(" ")[0].strip(","), row.whose, row.sort): row.per_s for row in rows}
    ours = {(whose, sort): rate for (name, whose, sort), rate in rates.items() if name == "precast"}
    theirs = {sort: rate for (name, _, sort), rate in rates.items() if name == "PuppetDB"}
    sides = sorted({whose for whose, _ in ours})
    unchanged = min(ours[side, "unchanged"] / ours[side, "changed"] for side in sides)
    bytes_written = max(written.values())
    # The least of both sorts on both databases.
    times = None if why else min(ours[side, sort] / theirs[sort] for side in sides for sort in ("new", "changed"))
    return [
        Goal(
            "facts-vs-puppetdb",
            times and round(times, 1),
            TIMES_TARGET,
            None if times is None else times >= TIMES_TARGET,
            why,
        ),
        Goal("facts-unchanged", round(unchanged, 2), UNCHANGED_TARGET, unchanged >= UNCHANGED_TARGET),
        Goal("facts-volatile-bytes", round(bytes_written), VOLATILE_TARGET, bytes_written <= VOLATILE_TARGET),
    ]


def main() -> None:
    is_quick = parse_quick(__doc__)
    size = QUICK if is_quick else FULL
    rows: list[Measured] = []
    written: dict[str, float] = {}
    programs = DEBIAN_PROGRAMS if DEBIAN_PROGRAMS.exists() else None
    with tempfile.TemporaryDirectory() as name:
        with on_sqlite(Path(name) / "sqlite") as (site, side):
            found, written[side.whose] = measure_ours(site, side, size)
        rows += found
        with PostgresServer(programs=programs) as server, on_postgres(Path(name) / "postgres", server) as (site, side):
            found, written[side.whose] = measure_ours(site, side, size)
        rows += found
    why = "PuppetDB takes minutes: only in a full run" if is_quick else puppetdb.why_missing()
    if why is None and programs is None:
        why = "PostgreSQL 15 is not installed (apt-get install postgresql-15)"
    if why is None:
        assert programs is not None, "said above"
        rows += measure_puppetdb(programs, size)
    print_rows(["sets of 20 KB", "sort", "sets", "per s", "server CPU ms", "database CPU ms"], rows)
    print()
    print_rows(["only uptime and memory changed", "bytes written a set"], list(written.items()))
    if why:
        print(f"\nnot measured: {why}")
    figures = {
        "sets": {f"{row.whose}, {row.sort}": row.figures for row in rows},
        "bytes_written_when_only_volatile": {whose: round(count) for whose, count in written.items()},
    }
    finish("facts", is_quick, figures, goals(rows, written, why))


if __name__ == "__main__":
    main()
