"""Futures: how soon a waiter is woken, and how many values a second are fulfilled, on both databases.

    .venv/bin/python bench/futures.py [--quick]

A real server has 1,000 connected waiters, each on a key of its own, and 20 nodes that promise these keys, over real sessions with TLS 1.3.
For the time to wake, each key is fulfilled once, paced; it is compared with what cannot be avoided, measured here as well: an echo
over a bare websocket with the same TLS, and one durable commit of one row. Beside it: etcd from PyPI (`make peers`), with 1,000 watchers
over its JSON gateway. The rate is that of fulfilments that are acknowledged, which is after their commit, while the
waiters are sent each of them.
The joint check of a job: 1,000 nodes with 200 resources each and 2,000 futures, each node with a catalog of its own, in the process that
a server starts for it; its time is wall time from the request to the answer.
The full run writes bench/results/futures.json; the quick one (under a minute) has 200 waiters, measures no etcd and writes nothing.
"""

import asyncio
import json
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
from websockets.asyncio.client import connect as open_socket

from bench.futures_cases.joint_check import CheckFigures, measure_check
from bench.report import Goal, finish, parse_quick, print_rows
from bench.swarm import make_certificate
from lab import fleet
from lab.future_catalogs import release_body
from lab.future_load import key_name
from lab.future_site import make_body
from lab.postgres import PostgresServer
from lab.site import Site
from precast.store.engine import location
from precast.store.engine.connect import connect

ROOT = Path(__file__).resolve().parent.parent
ETCD = ROOT / ".venv-peers" / "bin" / "etcd"
PRODUCERS, WAITERS, QUICK_WAITERS = 20, 1_000, 200
PACE_S, QUICK_PACE_S = 20.0, 4.0
RATE_S, QUICK_RATE_S = 10.0, 4.0
ROUNDS = 200
# Nodes and resources of each.
CHECK, QUICK_CHECK = (1_000, 200), (100, 50)
TARGET_TIMES, TARGET_CHECK_S = 3.0, 20.0
TARGET_RATE = {"sqlite": 5_000, "postgresql": 3_000}


async def prepare(database: str, nodes: Path, waiters: int) -> None:
    """Release a catalog to each node: the producers promise the keys in turn, each waiter needs one."""
    opened = await connect(location.parse(database))
    names, digests = fleet.names(PRODUCERS + waiters), dict[str, str]()
    try:
        for place, name in enumerate(names[:PRODUCERS]):
            promises = {key_name(number): "environment" for number in range(place, waiters, PRODUCERS)}
            digests[name] = await opened.write(release_body, opened, name, make_body(promises, []), "production")
        for number, name in enumerate(names[PRODUCERS:]):
            digests[name] = await opened.write(
                release_body, opened, name, make_body({}, [key_name(number)]), "production"
            )
    finally:
        await opened.close()
    (nodes / "digests.json").write_text(json.dumps(digests))


def run_load(site: Site, nodes: Path, waiters: int, what: str, seconds: float) -> dict[str, Any]:
    words = [site.url, nodes, PRODUCERS, waiters, what, seconds]
    done = subprocess.run(
        [sys.executable, "-m", "lab.future_load", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
    )
    if done.returncode:
        raise SystemExit(f"the load failed: {done.stderr[-2_000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure(directory: Path, name: str, url: str | None, *, is_quick: bool) -> dict[str, Any]:
    """The figures of one database."""
    waiters = QUICK_WAITERS if is_quick else WAITERS
    with Site(directory / name, url) as site:
        database, nodes = url or str(site.directory / "precast.db"), directory / f"{name}-nodes"
        fleet.enrol(site.directory, database, nodes, PRODUCERS + waiters)
        asyncio.run(prepare(database, nodes, waiters))
        wake_s = sorted(run_load(site, nodes, waiters, "wake", QUICK_PACE_S if is_quick else PACE_S)["wake_s"])
        rate = run_load(site, nodes, waiters, "rate", QUICK_RATE_S if is_quick else RATE_S)
        echo_s = measure_echo(site.directory, nodes)
        commit_s = measure_commit(directory) if url is None else asyncio.run(measure_insert(url))
    p50 = median(wake_s)
    return {
        "waiters": waiters,
        "wake_p50_ms": p50 * 1e3,
        "wake_p99_ms": wake_s[int(len(wake_s) * 0.99)] * 1e3,
        "echo_p50_ms": echo_s * 1e3,
        "commit_p50_ms": commit_s * 1e3,
        "times": p50 / (echo_s + commit_s),
        "fulfilments_per_s": rate["rate"],
        "values_sent": rate["values"],
    }


def measure_echo(site: Path, nodes: Path) -> float:
    """The median time of an echo over a bare websocket with TLS 1.3 and a client certificate."""
    certificate, key = make_certificate(site, nodes)
    with _echo_server(certificate, key, site / "authority" / "certificate.pem") as port:
        return asyncio.run(_echo(port, fleet.context(nodes, fleet.names(1)[0])))


@contextmanager
def _echo_server(certificate: Path, key: Path, authority: Path) -> Iterator[int]:
    command = [
        sys.executable,
        str(ROOT / "bench" / "peers" / "echo_websockets.py"),
        *map(str, (certificate, key, authority)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def _echo(port: int, context: ssl.SSLContext) -> float:
    taken = []
    async with open_socket(f"wss://127.0.0.1:{port}/", ssl=context, compression=None) as socket:
        for _ in range(ROUNDS):
            began_s = time.perf_counter()
            await socket.send(b"x" * 400)
            await socket.recv()
            taken.append(time.perf_counter() - began_s)
            await asyncio.sleep(0.005)
    return median(taken)


def measure_commit(directory: Path) -> float:
    """The median time of a durable commit of one row in a SQLite file, as the server's is opened."""
    database = sqlite3.connect(directory / "commit.db", isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)")
        taken = []
        for number in range(ROUNDS):
            began_s = time.perf_counter()
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO t VALUES (?, ?)", (number, b"x" * 400))
            database.execute("COMMIT")
            taken.append(time.perf_counter() - began_s)
            time.sleep(0.005)
        return median(taken)
    finally:
        database.close()


async def measure_insert(url: str) -> float:
    """The same on PostgreSQL, over a connection as the server's."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("CREATE TABLE bench_commit (a BIGINT PRIMARY KEY, b BYTEA)")
        taken = []
        for number in range(ROUNDS):
            began_s = time.perf_counter()
            await connection.execute("INSERT INTO bench_commit VALUES ($1, $2)", number, b"x" * 400)
            taken.append(time.perf_counter() - began_s)
            await asyncio.sleep(0.005)
        return median(taken)
    finally:
        await connection.close()


def measure_etcd(directory: Path) -> dict[str, Any] | None:
    """What etcd does on this machine; None if it is not installed, and cannot be."""
    if not ETCD.exists() and subprocess.run(["make", "peers"], cwd=ROOT).returncode:
        return None
    script = ROOT / "bench" / "peers" / "wake_etcd.py"
    words = [ETCD, directory / "etcd", WAITERS, PACE_S]
    done = subprocess.run([sys.executable, script, *map(str, words)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        print(f"etcd: {done.stderr.strip()[-500:]}")
        return None
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    is_quick = parse_quick(__doc__)
    with tempfile.TemporaryDirectory(prefix="precast-futures-", dir="/var/tmp") as name, PostgresServer() as postgres:
        directory = Path(name)
        measured = {
            "sqlite": measure(directory, "sqlite", None, is_quick=is_quick),
            "postgresql": measure(directory, "postgresql", postgres.url(postgres.create_database()), is_quick=is_quick),
        }
        etcd = None if is_quick else measure_etcd(directory)
    check = asyncio.run(measure_check(*(QUICK_CHECK if is_quick else CHECK)))
    rows = [[what, *(measured[each][what] for each in measured), (etcd or {}).get(what)] for what in measured["sqlite"]]
    print_rows(["what", "SQLite", "PostgreSQL", "etcd"], rows)
    print_rows(["joint check", ""], [[name, value] for name, value in check._asdict().items()])
    goals = [_wake_goal(measured), *(_rate_goal(each, measured[each]) for each in measured)]
    goals.append(_check_goal(check, is_quick=is_quick))
    finish("futures", is_quick, {**measured, "etcd": etcd, "check": check._asdict()}, goals)


def _wake_goal(measured: dict[str, dict[str, Any]]) -> Goal:
    worst = max(figures["times"] for figures in measured.values())
    return Goal("futures-wake", round(worst, 2), TARGET_TIMES, worst <= TARGET_TIMES)


def _rate_goal(name: str, figures: dict[str, Any]) -> Goal:
    rate, target = figures["fulfilments_per_s"], TARGET_RATE[name]
    goal = "futures-rate" if name == "sqlite" else f"futures-rate-{name}"
    return Goal(goal, round(rate), target, rate >= target)


def _check_goal(check: CheckFigures, *, is_quick: bool) -> Goal:
    if is_quick:
        return Goal("futures-check", None, TARGET_CHECK_S, None, "only the full run has so many nodes")
    return Goal(
        "futures-check", round(check.wall_s, 1), TARGET_CHECK_S, check.is_proven and check.wall_s <= TARGET_CHECK_S
    )


if __name__ == "__main__":
    main()
