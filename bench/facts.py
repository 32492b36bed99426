"""How fast the server stores facts and decides about them, from the node's socket on, compared with PuppetDB.

    .venv/bin/python bench/facts.py [--quick]

A real `precast server` runs on SQLite and on PostgreSQL; in another process many nodes send distinct sets of 20 KB, each over its own
connection with its own certificate. They send as the agent's daemon does: numbered records of the node's session, a websocket over TLS 1.3
on the HTTPS port, both parts compressed by the node. TLS encrypts before the clock starts and decrypts after it has stopped, as if nodes
were separate machines. The goals apply to these sets. Sets in HTTPS requests with plain JSON, as `precast agent facts` sends them, are
measured too ("by request"). A set counts when it is stored with its decision, not when it is acknowledged: the benchmark reads the server's
database. "New" is the first set of a node, "changed" differs from the previous set in ten values, "unchanged" is the digest with the
volatile part. All nodes send concurrently, each its sets in sequence, in a turn for about as long as the peer takes for its sets. The
machine's speed changes within seconds, so all servers run at once and take turns, and in a turn changed and unchanged sets alternate; goals
are the median of the turns' ratios on the slower database and, against PuppetDB, for the slower sort. PuppetDB (Debian's, without TLS)
receives the same sets as its own commands; its time ends when its queue is empty. The Precast server has a process for each processor. Both
use the same PostgreSQL programs with the same settings. All processes share the processors; CPU time excludes the load.
"""

import asyncio
import os
import sqlite3
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

import asyncpg

from bench.load import Load
from bench.report import Goal, finish, parse_quick, print_rows
from lab import puppetdb
from lab.fact_documents import facts_of, name_of
from lab.fact_load import FactBatch
from lab.postgres import PostgresServer
from lab.site import Site
from precast.agent.identity.enrolment import Identity
from precast.base.errors import LimitedError
from precast.wire.facts import merge

DEBIAN_PROGRAMS = Path("/usr/lib/postgresql/15/bin")
TIMES_TARGET, UNCHANGED_TARGET, VOLATILE_TARGET = 50.0, 5.0, 2048.0
DEADLINE_S = 600.0
QUIET_S = 0.4
# As in production; on SQLite the processes share one writer.
WORKERS = ["--workers", str(os.cpu_count())]


class Size(NamedTuple):
    """The size of a benchmark run. In each part of a turn every node sends `rounds` changed sets, and five times as many unchanged sets,
    which take about as long."""

    nodes: int
    turns: int
    rounds: int
    peer_nodes: int


QUICK, FULL = Size(150, 2, 4, 0), Size(400, 6, 10, 100)
UNCHANGED_ROUNDS = 5
PARTS = 2


class Measurement(NamedTuple):
    """Sets of one sort on one server, their duration, and the CPU time of the server and of its database."""

    whose: str
    sort: str
    sets: int
    wall_s: float
    server_s: float
    database_s: float

    @property
    def per_s(self) -> float:
        return self.sets / self.wall_s

    @property
    def figures(self) -> dict[str, float]:
        return {
            "sets": self.sets,
            "per_s": round(self.per_s, 3),
            "server_cpu_ms": round(self.server_s / self.sets * 1e3, 3),
            "database_cpu_ms": round(self.database_s / self.sets * 1e3, 3),
        }


def merge_measurements(rows: Sequence[Measurement]) -> Measurement:
    """Add up the measurements of one sort on one server."""
    sums = (sum(column) for column in list(zip(*rows, strict=True))[2:])
    return Measurement(rows[0].whose, rows[0].sort, *sums)


class DatabaseCounts(NamedTuple):
    """Counts from a server's database: sets in the inbox, sets with a decision, and sets of which only the volatile part was sent."""

    waiting: Callable[[], int]
    decided: Callable[[], int]
    refreshed: Callable[[], int]


class ServerUnderLoad(NamedTuple):
    """A server under load: its product, its processes, the counts of its database, and the bytes it writes to the database's log."""

    whose: str
    server_pid: int
    database_pid: int | None
    counts: DatabaseCounts
    log: Callable[[], AbstractContextManager[Callable[[], int]]]

    def cpu_s(self) -> tuple[float, float]:
        return family_cpu_s(self.server_pid), family_cpu_s(self.database_pid) if self.database_pid else 0.0


DECIDED = "SELECT (SELECT count(*) FROM fact_set) + (SELECT count(*) FROM fact_history)"
REFRESHED = "SELECT coalesce(sum(submissions), 0) FROM fact_volatile"
WAITING = "SELECT count(*) FROM fact_inbox"
WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"


def make_counts(ask: Callable[[str], int]) -> DatabaseCounts:
    """The counts of a Precast server, read with a function that runs a query."""
    return DatabaseCounts(partial(ask, WAITING), partial(ask, DECIDED), partial(ask, REFRESHED))


@contextmanager
def on_sqlite(directory: Path) -> Iterator[tuple[Site, ServerUnderLoad]]:
    with Site(directory, words=WORKERS) as site:
        database = directory / "precast.db"
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, isolation_level=None)
        # An open read transaction prevents SQLite from resetting the log: the number of new frames is what was written.
        reader = sqlite3.connect(f"file:{database}?mode=ro", uri=True, isolation_level=None)

        # Open until the end: closing it would drop every lock of this process on the file, the reader's too.
        index = os.open(database.with_name("precast.db-shm"), os.O_RDONLY)

        def frames() -> tuple[int, int]:
            """The numbers of the last frame and of the last checkpointed frame, from the log's index."""
            head = os.pread(index, 100, 0)
            return struct.unpack_from("=I", head, 16)[0], struct.unpack_from("=I", head, 96)[0]

        @contextmanager
        def log() -> Iterator[Callable[[], int]]:
            wait_until(lambda: frames()[0] != frames()[1])  # a server writes its heartbeat every few seconds
            reader.execute("BEGIN")
            reader.execute(WAITING).fetchone()
            before = frames()[0]
            yield lambda: (frames()[0] - before) * (4096 + 24)  # a frame is a page with a head
            reader.execute("ROLLBACK")

        def ask(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0])

        yield site, ServerUnderLoad("precast, SQLite", site.pid, None, make_counts(ask), log)
        reader.close()
        connection.close()
        os.close(index)


@contextmanager
def on_postgres(directory: Path, server: PostgresServer) -> Iterator[tuple[Site, ServerUnderLoad]]:
    url = server.url(server.create_database())
    with Site(directory, url, words=WORKERS) as site, asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(url))

        def ask(sql: str) -> int:
            return int(runner.run(connection.fetchval(sql)))

        @contextmanager
        def log() -> Iterator[Callable[[], int]]:
            before = ask(WAL)
            yield lambda: ask(WAL) - before

        whose = f"precast, PostgreSQL {connection.get_server_version().major}"
        yield site, ServerUnderLoad(whose, site.pid, server.pid, make_counts(ask), log)
        runner.run(connection.close())


def family(pid: int) -> dict[int, float]:
    """A process and its living descendants, each with its CPU time and that of its dead children."""
    tick = os.sysconf("SC_CLK_TCK")
    processes: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        processes[int(stat.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / tick)
    members = {pid}
    while more := {child for child, (parent, _) in processes.items() if parent in members} - members:
        members |= more
    return {member: processes[member][1] for member in members if member in processes}


def family_cpu_s(pid: int) -> float:
    """CPU time of a process and of all its descendants, living or dead."""
    return sum(family(pid).values())


def wait_until(is_done: Callable[[], bool]) -> float:
    """Wait for a condition, and return the time when it was met, on the clock of the load."""
    end_s = time.monotonic() + DEADLINE_S
    while not is_done():
        if time.monotonic() > end_s:
            raise RuntimeError("the server did not process the sets in time")
        time.sleep(0.01)
    return time.monotonic()


def wait_until_quiet() -> None:
    """Wait until all processes of the benchmark are idle, so that deferred work of one sort is not counted for another."""

    def is_quiet() -> bool:
        busy_s = family_cpu_s(os.getpid())
        time.sleep(QUIET_S)
        return family_cpu_s(os.getpid()) - busy_s < QUIET_S / 10

    wait_until(is_quiet)


def measure_batch(load: Load, side: ServerUnderLoad, sort: str, batch: FactBatch) -> Measurement:
    """Send a batch and wait until the inbox is empty. Only stored sets count, not sets that were replaced in the inbox."""
    wait_until_quiet()
    stored = side.counts.decided if batch.is_whole else side.counts.refreshed
    before, cpu_before = stored(), side.cpu_s()
    load.send_all(batch)
    ended_s = wait_until(lambda: not side.counts.waiting())
    server_s, database_s = (now - then for now, then in zip(side.cpu_s(), cpu_before, strict=True))
    sent = load.sent()
    found = Measurement(side.whose, sort, stored() - before, ended_s - sent.started_s, server_s, database_s)
    print(f"{found.whose}, {sort}: {found.per_s:,.0f} sets/s", file=sys.stderr, flush=True)
    return found


class Turn(NamedTuple):
    """Measurements taken at about the same time, because the machine's speed changes within minutes."""

    changed: Measurement
    unchanged: Measurement
    written: int  # bytes, for the unchanged

    @property
    def times(self) -> float:
        return self.unchanged.per_s / self.changed.per_s


class PrecastBench:
    """A Precast server with its nodes."""

    def __init__(self, site: Site, side: ServerUnderLoad, size: Size) -> None:
        self._site, self.side, self._size = site, side, size
        self._upgrades = self._ticks = 0
        enrol(site, size.nodes)
        self._load = self._connect("sessions")

    def _connect(self, how: str) -> Load:
        return Load("lab.fact_load", how, self._site.port, self._size.nodes, self._site.directory)

    def first(self) -> Measurement:
        return measure_batch(self._load, self.side, "new", FactBatch())

    def turn(self) -> Turn:
        changed, unchanged, bytes_written = zip(*(self._part() for _ in range(PARTS)), strict=True)
        return Turn(merge_measurements(changed), merge_measurements(unchanged), sum(bytes_written))

    def _part(self) -> tuple[Measurement, Measurement, int]:
        changed = self._changed("changed")
        with self.side.log() as written:
            unchanged = self._unchanged("unchanged")
            return changed, unchanged, written()

    def by_request(self) -> list[Measurement]:
        """Measure HTTPS requests, after closing the sessions."""
        self._load.close()
        self._load = self._connect("requests")
        return [self._changed("changed, by request"), self._unchanged("unchanged, by request")]

    def close(self) -> None:
        self._load.close()

    def check(self) -> None:
        """Check that the server shows the facts that a node has sent last. Raises RuntimeError."""
        shown = self._site.run("facts", "show", name_of(0))["facts"]
        if shown != merge(*facts_of(0, self._upgrades, 60 * self._ticks)):
            raise RuntimeError(f"{self.side.whose} does not show what was sent")

    def _changed(self, sort: str) -> Measurement:
        batch = FactBatch(upgrades=self._upgrades + 1, rounds=self._size.rounds)
        self._upgrades += self._size.rounds
        return measure_batch(self._load, self.side, sort, batch)

    def _unchanged(self, sort: str) -> Measurement:
        rounds = UNCHANGED_ROUNDS * self._size.rounds
        batch = FactBatch(upgrades=self._upgrades, tick=60 * (self._ticks + 1), is_whole=False, rounds=rounds)
        self._ticks += rounds
        return measure_batch(self._load, self.side, sort, batch)


class PuppetDbBench:
    """PuppetDB, which receives the same sets as its own commands. It is not warmed up, which favours Precast at the beginning."""

    def __init__(self, peer: puppetdb.PuppetDb, size: Size) -> None:
        self._load = Load("lab.fact_load", "puppetdb", peer.port, size.peer_nodes)
        whose = f"PuppetDB {peer.version}"
        self._side = ServerUnderLoad(
            whose,
            peer.pid,
            peer.postgres.pid,
            DatabaseCounts(peer.waiting, peer.processed, lambda: 0),
            lambda: nullcontext(lambda: 0),
        )
        self._upgrades = 0

    def first(self) -> Measurement:
        return measure_batch(self._load, self._side, "new", FactBatch())

    def turn(self) -> Measurement:
        self._upgrades += 1
        return measure_batch(self._load, self._side, "changed", FactBatch(upgrades=self._upgrades))

    def close(self) -> None:
        self._load.close()


def enrol(site: Site, count: int) -> None:
    token = site.run("token", "enrol", "*.example.org", "--uses", str(count))["token"]

    def enrol_node(node: int) -> None:
        while True:
            try:
                Identity(site.directory / "nodes" / name_of(node)).enrol(site.url, token, name_of(node))
            except LimitedError:  # all nodes have the same address
                time.sleep(0.5)
            else:
                return

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(enrol_node, range(count)))


class BenchResult(NamedTuple):
    """All measurements of a benchmark run, turn by turn."""

    new: dict[str, Measurement]
    turns: dict[str, list[Turn]]
    by_request: list[Measurement]
    peer_new: Measurement | None
    peer_turns: list[Measurement]

    @property
    def rows(self) -> list[Measurement]:
        rows: list[Measurement] = []
        for whose, turns in self.turns.items():
            sorts = (
                merge_measurements([turn.changed for turn in turns]),
                merge_measurements([turn.unchanged for turn in turns]),
            )
            rows += [self.new[whose], *sorts, *(row for row in self.by_request if row.whose == whose)]
        return rows + ([self.peer_new, merge_measurements(self.peer_turns)] if self.peer_new is not None else [])

    @property
    def written(self) -> dict[str, float]:
        """Bytes written for a set in which only uptime and memory changed."""
        return {
            whose: sum(turn.written for turn in turns) / sum(turn.unchanged.sets for turn in turns)
            for whose, turns in self.turns.items()
        }

    @property
    def unchanged_times(self) -> dict[str, list[float]]:
        return {whose: [turn.times for turn in turns] for whose, turns in self.turns.items()}

    @property
    def peer_times(self) -> dict[str, list[float]]:
        """The ratio of changed sets to those of the peer, turn by turn."""
        return {
            whose: [ours.changed.per_s / theirs.per_s for ours, theirs in zip(turns, self.peer_turns, strict=True)]
            for whose, turns in self.turns.items()
            if self.peer_turns
        }

    @property
    def peer_new_times(self) -> dict[str, float]:
        peer = self.peer_new
        return {} if peer is None else {whose: row.per_s / peer.per_s for whose, row in self.new.items()}


def measure(places: ExitStack, directory: Path, size: Size, programs: Path | None, has_peer: bool) -> BenchResult:
    """Start all servers, and measure them in turns."""
    ours: list[PrecastBench] = []
    server = places.enter_context(PostgresServer(programs=programs))
    for opened in (on_sqlite(directory / "sqlite"), on_postgres(directory / "postgres", server)):
        bench = PrecastBench(*places.enter_context(opened), size)
        places.callback(bench.close)
        ours.append(bench)
    theirs: PuppetDbBench | None = None
    if has_peer:
        assert programs is not None, "checked by the caller"
        theirs = PuppetDbBench(places.enter_context(puppetdb.PuppetDb(programs)), size)
        places.callback(theirs.close)
    new = {bench.side.whose: bench.first() for bench in ours}
    peer_new = theirs.first() if theirs is not None else None
    turns: dict[str, list[Turn]] = {bench.side.whose: [] for bench in ours}
    peer_turns: list[Measurement] = []
    for _ in range(size.turns):
        for bench in ours:
            turns[bench.side.whose].append(bench.turn())
            bench.check()
        if theirs is not None:
            peer_turns.append(theirs.turn())
    return BenchResult(new, turns, [row for bench in ours for row in bench.by_request()], peer_new, peer_turns)


def goals(found: BenchResult, why: str | None) -> list[Goal]:
    unchanged = min(map(statistics.median, found.unchanged_times.values()))
    bytes_written = max(found.written.values())
    # The least of both sorts on both databases.
    times = None
    if not why:
        times = min(*map(statistics.median, found.peer_times.values()), *found.peer_new_times.values())
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
    programs = DEBIAN_PROGRAMS if DEBIAN_PROGRAMS.exists() else None
    why = "PuppetDB takes minutes: only in a full run" if is_quick else puppetdb.why_missing()
    if why is None and programs is None:
        why = "PostgreSQL 15 is not installed (apt-get install postgresql-15)"
    with tempfile.TemporaryDirectory() as name, ExitStack() as places:
        found = measure(places, Path(name), size, programs, why is None)
    heads = ["sets of 20 KB", "sort", "sets", "per s", "server CPU ms", "database CPU ms"]
    print_rows(heads, [(row.whose, row.sort, *row.figures.values()) for row in found.rows])
    print()
    print_rows(["only uptime and memory changed", "bytes written a set"], list(found.written.items()))
    by_turn = {
        "unchanged against changed": found.unchanged_times,
        "changed against PuppetDB": found.peer_times,
        "new against PuppetDB": {whose: [times] for whose, times in found.peer_new_times.items()},
    }
    for what, sides in by_turn.items():
        for whose, times in sides.items():
            print(f"{what}, turn by turn, {whose}: {', '.join(f'{ratio:.1f}' for ratio in times)}")
    if why:
        print(f"\nnot measured: {why}")
    figures = {
        "sets": {f"{row.whose}, {row.sort}": row.figures for row in found.rows},
        "bytes_written_when_only_volatile": {whose: round(count) for whose, count in found.written.items()},
        "times_by_turn": {
            what: {whose: [round(ratio, 2) for ratio in times] for whose, times in sides.items()}
            for what, sides in by_turn.items()
            if sides
        },
    }
    finish("facts", is_quick, figures, goals(found, why))


if __name__ == "__main__":
    main()
