"""Facts, from the node's socket until they are persisted and decided upon; with PuppetDB beside it.

    .venv/bin/python bench/facts.py [--quick]

A real `precast server` on SQLite and on PostgreSQL; in another process many nodes send distinct sets of 20 KB, each over its own connection
with its own certificate. They come as the agent's daemon sends them: as numbered records of the node's session, a websocket over TLS 1.3 on
the HTTPS port, both parts packed by the node; TLS records are sealed before the clock starts and answers opened when all has come, as
machines of their own would do it. The goals are about those. As `precast agent facts` sends them, in HTTPS requests and as
plain JSON, they are measured beside that ("by request"). A set counts when it is stored with its decision, not when it is acknowledged: the
server's database is asked. "New" is the first set of a node, "changed" differs from the one before in ten values, "unchanged" is the digest
with what changes by nature; all nodes send at once, each one after another, until all have sent theirs, for about as long in a turn as the
peer takes for its sets. The machine's speed changes within seconds, so all servers run at once and take turns, and in a turn changed and
unchanged sets alternate; the goals are the middle of the turns' ratios, the worse database's and, against PuppetDB, the worse sort's.
PuppetDB (Debian's, without TLS) gets the same sets as its own commands; its time ends when its queue is empty. Our server has a process for
each processor. Its PostgreSQL and ours are the same programs with the same settings. All processes share the processors; CPU is of all but
the load.
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
from lab.fact_load import Order
from lab.postgres import PostgresServer
from lab.site import Site
from precast.agent.identity.enrolment import Identity
from precast.base.errors import LimitedError
from precast.wire.facts import merge

DEBIAN_PROGRAMS = Path("/usr/lib/postgresql/15/bin")
TIMES_TARGET, UNCHANGED_TARGET, VOLATILE_TARGET = 50.0, 5.0, 2048.0
DEADLINE_S = 600.0
QUIET_S = 0.4
# As a server is run: the processes of one on SQLite share its one writer.
WORKERS = ["--workers", str(os.cpu_count())]


class Size(NamedTuple):
    """How much a run does. In each part of a turn every node sends so many changed sets, and five times as many unchanged: they take as
    long."""

    nodes: int
    turns: int
    rounds: int
    peer_nodes: int


QUICK, FULL = Size(150, 2, 4, 0), Size(400, 6, 10, 100)
UNCHANGED_ROUNDS = 5
PARTS = 2


class Measured(NamedTuple):
    """Sets of one sort on one server, how long they took, and CPU of the server and of its database."""

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


def together(rows: Sequence[Measured]) -> Measured:
    """All that was measured of one sort on one server."""
    sums = (sum(column) for column in list(zip(*rows, strict=True))[2:])
    return Measured(rows[0].whose, rows[0].sort, *sums)


class Asks(NamedTuple):
    """What a server's database is asked: how many sets wait, are decided upon, and are stored of which only the volatile part came."""

    waiting: Callable[[], int]
    decided: Callable[[], int]
    refreshed: Callable[[], int]


class Side(NamedTuple):
    """A server under load: whose it is, how much of its work is left and done, and how many bytes of log it writes meanwhile."""

    whose: str
    server_pid: int
    database_pid: int | None
    asks: Asks
    log: Callable[[], AbstractContextManager[Callable[[], int]]]

    def cpu_s(self) -> tuple[float, float]:
        return family_cpu_s(self.server_pid), family_cpu_s(self.database_pid) if self.database_pid else 0.0


DECIDED = "SELECT (SELECT count(*) FROM fact_set) + (SELECT count(*) FROM fact_history)"
REFRESHED = "SELECT coalesce(sum(submissions), 0) FROM fact_volatile"
WAITING = "SELECT count(*) FROM fact_inbox"
WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"


def asking(ask: Callable[[str], int]) -> Asks:
    """Of a server of ours, with whoever asks its database."""
    return Asks(partial(ask, WAITING), partial(ask, DECIDED), partial(ask, REFRESHED))


@contextmanager
def on_sqlite(directory: Path) -> Iterator[tuple[Site, Side]]:
    with Site(directory, words=WORKERS) as site:
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

        @contextmanager
        def log() -> Iterator[Callable[[], int]]:
            until(lambda: frames()[0] != frames()[1])  # a server notes every few seconds that it is there
            reader.execute("BEGIN")
            reader.execute(WAITING).fetchone()
            before = frames()[0]
            yield lambda: (frames()[0] - before) * (4096 + 24)  # a frame is a page with a head
            reader.execute("ROLLBACK")

        def ask(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0])

        yield site, Side("precast, SQLite", site.pid, None, asking(ask), log)
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

        @contextmanager
        def log() -> Iterator[Callable[[], int]]:
            before = ask(WAL)
            yield lambda: ask(WAL) - before

        whose = f"precast, PostgreSQL {connection.get_server_version().major}"
        yield site, Side(whose, site.pid, server.pid, asking(ask), log)
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


def until_quiet() -> None:
    """Wait until nobody here does much: what one sort leaves to be done later should not be counted as another's."""

    def is_quiet() -> bool:
        busy_s = family_cpu_s(os.getpid())
        time.sleep(QUIET_S)
        return family_cpu_s(os.getpid()) - busy_s < QUIET_S / 10

    until(is_quiet)


def measured(load: Load, side: Side, sort: str, order: Order) -> Measured:
    """Send and wait until everything is decided upon. What counts is stored; what was replaced before anyone looked at it does not."""
    until_quiet()
    stored = side.asks.decided if order.is_whole else side.asks.refreshed
    before, cpu_before = stored(), side.cpu_s()
    load.send_all(order)
    ended_s = until(lambda: not side.asks.waiting())
    server_s, database_s = (now - then for now, then in zip(side.cpu_s(), cpu_before, strict=True))
    sent = load.sent()
    found = Measured(side.whose, sort, stored() - before, ended_s - sent.started_s, server_s, database_s)
    print(f"{found.whose}, {sort}: {found.per_s:,.0f} sets/s", file=sys.stderr, flush=True)
    return found


class Turn(NamedTuple):
    """What was measured at about the same time: the machine's speed changes within minutes."""

    changed: Measured
    unchanged: Measured
    written: int  # bytes, for the unchanged

    @property
    def times(self) -> float:
        return self.unchanged.per_s / self.changed.per_s


class Ours:
    """A server of ours with its nodes."""

    def __init__(self, site: Site, side: Side, size: Size) -> None:
        self._site, self.side, self._size = site, side, size
        self._upgrades = self._ticks = 0
        enrol(site, size.nodes)
        self._load = self._connect("sessions")

    def _connect(self, how: str) -> Load:
        return Load("lab.fact_load", how, self._site.port, self._size.nodes, self._site.directory)

    def first(self) -> Measured:
        return measured(self._load, self.side, "new", Order())

    def turn(self) -> Turn:
        changed, unchanged, bytes_written = zip(*(self._part() for _ in range(PARTS)), strict=True)
        return Turn(together(changed), together(unchanged), sum(bytes_written))

    def _part(self) -> tuple[Measured, Measured, int]:
        changed = self._changed("changed")
        with self.side.log() as written:
            unchanged = self._unchanged("unchanged")
            return changed, unchanged, written()

    def by_request(self) -> list[Measured]:
        """The same in HTTPS requests; the sessions are over then."""
        self._load.close()
        self._load = self._connect("requests")
        return [self._changed("changed, by request"), self._unchanged("unchanged, by request")]

    def close(self) -> None:
        self._load.close()

    def check(self) -> None:
        """What the server shows of a node is what it has sent last: what is stored as it came can be read. Raises RuntimeError."""
        shown = self._site.run("facts", "show", name_of(0))["facts"]
        if shown != merge(*facts_of(0, self._upgrades, 60 * self._ticks)):
            raise RuntimeError(f"{self.side.whose} does not show what was sent")

    def _changed(self, sort: str) -> Measured:
        order = Order(upgrades=self._upgrades + 1, rounds=self._size.rounds)
        self._upgrades += self._size.rounds
        return measured(self._load, self.side, sort, order)

    def _unchanged(self, sort: str) -> Measured:
        rounds = UNCHANGED_ROUNDS * self._size.rounds
        order = Order(upgrades=self._upgrades, tick=60 * (self._ticks + 1), is_whole=False, rounds=rounds)
        self._ticks += rounds
        return measured(self._load, self.side, sort, order)


class Theirs:
    """PuppetDB, which gets the same sets as its own commands. It is not warmed up, which favours us while it still compiles itself."""

    def __init__(self, peer: puppetdb.PuppetDb, size: Size) -> None:
        self._load = Load("lab.fact_load", "puppetdb", peer.port, size.peer_nodes)
        whose = f"PuppetDB {peer.version}"
        self._side = Side(
            whose,
            peer.pid,
            peer.postgres.pid,
            Asks(peer.waiting, peer.processed, lambda: 0),
            lambda: nullcontext(lambda: 0),
        )
        self._upgrades = 0

    def first(self) -> Measured:
        return measured(self._load, self._side, "new", Order())

    def turn(self) -> Measured:
        self._upgrades += 1
        return measured(self._load, self._side, "changed", Order(upgrades=self._upgrades))

    def close(self) -> None:
        self._load.close()


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


class Found(NamedTuple):
    """All of a run: what each measured, turn by turn."""

    new: dict[str, Measured]
    turns: dict[str, list[Turn]]
    by_request: list[Measured]
    peer_new: Measured | None
    peer_turns: list[Measured]

    @property
    def rows(self) -> list[Measured]:
        rows: list[Measured] = []
        for whose, turns in self.turns.items():
            sorts = together([turn.changed for turn in turns]), together([turn.unchanged for turn in turns])
            rows += [self.new[whose], *sorts, *(one for one in self.by_request if one.whose == whose)]
        return rows + ([self.peer_new, together(self.peer_turns)] if self.peer_new is not None else [])

    @property
    def written(self) -> dict[str, float]:
        """Bytes for a set of which only uptime and memory have changed."""
        return {
            whose: sum(turn.written for turn in turns) / sum(turn.unchanged.sets for turn in turns)
            for whose, turns in self.turns.items()
        }

    @property
    def unchanged_times(self) -> dict[str, list[float]]:
        return {whose: [turn.times for turn in turns] for whose, turns in self.turns.items()}

    @property
    def peer_times(self) -> dict[str, list[float]]:
        """How many times as many changed sets as the peer, turn by turn."""
        return {
            whose: [ours.changed.per_s / theirs.per_s for ours, theirs in zip(turns, self.peer_turns, strict=True)]
            for whose, turns in self.turns.items()
            if self.peer_turns
        }

    @property
    def peer_new_times(self) -> dict[str, float]:
        peer = self.peer_new
        return {} if peer is None else {whose: row.per_s / peer.per_s for whose, row in self.new.items()}


def measure(places: ExitStack, directory: Path, size: Size, programs: Path | None, has_peer: bool) -> Found:
    """All servers at once, each in its turn."""
    ours: list[Ours] = []
    server = places.enter_context(PostgresServer(programs=programs))
    for opened in (on_sqlite(directory / "sqlite"), on_postgres(directory / "postgres", server)):
        one = Ours(*places.enter_context(opened), size)
        places.callback(one.close)
        ours.append(one)
    theirs: Theirs | None = None
    if has_peer:
        assert programs is not None, "looked at before"
        theirs = Theirs(places.enter_context(puppetdb.PuppetDb(programs)), size)
        places.callback(theirs.close)
    new = {one.side.whose: one.first() for one in ours}
    peer_new = theirs.first() if theirs is not None else None
    turns: dict[str, list[Turn]] = {one.side.whose: [] for one in ours}
    peer_turns: list[Measured] = []
    for _ in range(size.turns):
        for one in ours:
            turns[one.side.whose].append(one.turn())
            one.check()
        if theirs is not None:
            peer_turns.append(theirs.turn())
    return Found(new, turns, [row for one in ours for row in one.by_request()], peer_new, peer_turns)


def goals(found: Found, why: str | None) -> list[Goal]:
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
    print_rows(heads, [(one.whose, one.sort, *one.figures.values()) for one in found.rows])
    print()
    print_rows(["only uptime and memory changed", "bytes written a set"], list(found.written.items()))
    by_turn = {
        "unchanged against changed": found.unchanged_times,
        "changed against PuppetDB": found.peer_times,
        "new against PuppetDB": {whose: [times] for whose, times in found.peer_new_times.items()},
    }
    for what, sides in by_turn.items():
        for whose, times in sides.items():
            print(f"{what}, turn by turn, {whose}: {', '.join(f'{one:.1f}' for one in times)}")
    if why:
        print(f"\nnot measured: {why}")
    figures = {
        "sets": {f"{row.whose}, {row.sort}": row.figures for row in found.rows},
        "bytes_written_when_only_volatile": {whose: round(count) for whose, count in found.written.items()},
        "times_by_turn": {
            what: {whose: [round(one, 2) for one in times] for whose, times in sides.items()}
            for what, sides in by_turn.items()
            if sides
        },
    }
    finish("facts", is_quick, figures, goals(found, why))


if __name__ == "__main__":
    main()
