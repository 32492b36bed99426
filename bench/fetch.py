"""How fast the server answers requests for catalogs, known and new, and a release to a connected fleet; compared with puppetserver.

    .venv/bin/python bench/fetch.py [--quick]

A real `precast server` runs with a process for each processor, on SQLite; in another process every node has its own connection and
certificate, over TLS 1.3. The catalog has about 460 resources. Nodes ask in turn whether their catalog is still current, and the server
answers 304. puppetserver (Debian's, without TLS, with its default number of interpreters and cached environments) receives requests as from
its agents, for a catalog of as many resources, after a warm-up: it compiles at every request. The machine's speed changes within minutes,
so both take turns; the goal is the median of the rounds' ratios. A command makes the release; each node is notified over its session and
fetches over a new connection; the time ends when the last node has the catalog.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.compile_cases import environment, realistic
from bench.facts import family_cpu_s
from bench.load import Load
from bench.report import Goal, finish, parse_quick, print_rows
from bench.swarm import Clients
from lab import fleet, puppetserver
from lab.catalog_load import FetchBatch, FetchResult
from lab.site import Site
from precast.base import canonical, digests, https

TIMES_TARGET = 10_000.0
RESOURCES = 460
DEADLINE_S = 300.0
AT_ONCE = 128


class Size(NamedTuple):
    """The size of a benchmark run."""

    nodes: int
    known: int  # requests of nodes that have their catalog
    rounds: int
    whole: int  # requests of nodes that have none
    peer_warm: int
    peer: int  # requests of a round


QUICK, FULL = Size(200, 8_000, 1, 1_000, 0, 0), Size(1_000, 40_000, 5, 5_000, 12, 8)


class Measurement(NamedTuple):
    """The measurement of one sort of requests."""

    whose: str
    sort: str
    requests: int
    per_s: float
    server_us: float
    client_us: float | None

    @property
    def figures(self) -> dict[str, float]:
        return {"requests": self.requests, "per_s": round(self.per_s, 3), "server_cpu_us": round(self.server_us, 1)}


def ask(load: Load, site: Site, sort: str, batch: FetchBatch, status: str) -> Measurement:
    """Let the nodes send requests, all of which must be answered with one status."""
    cpu_s = family_cpu_s(site.pid)
    result = load.ask(batch, FetchResult)
    if result.statuses != {status: batch.requests}:
        raise SystemExit(f"not all of {batch.requests} answers are {status}: {result.statuses}")
    count = batch.requests
    server_us = (family_cpu_s(site.pid) - cpu_s) / count * 1e6
    return Measurement("precast", sort, count, count / result.wall_s, server_us, result.cpu_s / count * 1e6)


def send_facts(site: Site, directory: Path, names: list[str]) -> None:
    """Send the facts of all nodes, so that the server can compile for them."""

    def send_node_facts(name: str) -> None:
        number = int(name.removeprefix("node"))
        address = f"10.{number // 62500}.{number // 250 % 250}.{number % 250 + 1}"
        stable = {"os": {"name": "Debian", "family": "Debian"}, "networking": {"hostname": name, "ip": address}}
        body = canonical.encode({"digest": digests.of_value(stable), "volatile": {}, "stable": stable})
        answer = https.call(site.url, fleet.context(directory, name), "POST", "/v1/facts", body)
        assert answer.status == 200, answer

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(send_node_facts, names))


def deploy(site: Site, code: Path, resources: int) -> None:
    environment.write(environment.generate(resources), code)
    site.run("env", "deploy", "production", "--from", str(code))


def release(site: Site, count: int) -> float:
    """Wait until all catalogs are staged, release them, and return the duration of the command."""
    end_s = time.monotonic() + DEADLINE_S
    while True:
        preview: dict[str, Any] = site.run("release", "--preview", "node*")
        if not preview["left_out"] and preview["nodes"] - preview["unchanged"] == count:
            break
        if time.monotonic() > end_s:
            raise SystemExit(f"not all catalogs were staged: {str(preview)[:500]}")
        time.sleep(0.5)
    began_s = time.monotonic()
    done = site.run("release", "node*", "--why", "a benchmark")
    assert len(done["released"]) == count, done
    return time.monotonic() - began_s


class Round(NamedTuple):
    """A round of nodes that have their catalog, followed by a round of puppetserver if it is measured."""

    known: Measurement
    compiled: Measurement | None

    @property
    def times(self) -> float | None:
        return None if self.compiled is None else self.known.per_s / self.compiled.per_s


class PrecastResult(NamedTuple):
    """The measurements of Precast, round by round with those of the peer."""

    whole: Measurement
    rounds: list[Round]
    released: dict[str, float]

    @property
    def rows(self) -> list[Measurement]:
        """The median round of each, because the machine is shared."""
        peers = [round_.compiled for round_ in self.rounds if round_.compiled is not None]
        return [self.whole, _median([round_.known for round_ in self.rounds]), *([_median(peers)] if peers else ())]


def _median(rows: list[Measurement]) -> Measurement:
    return sorted(rows, key=lambda row: row.per_s)[len(rows) // 2]


def measure(place: Path, size: Size, peer: Callable[[], Measurement] | None) -> PrecastResult:
    nodes = place / "nodes"
    nodes.mkdir()
    with Site(place / "site", words=["--workers", str(os.cpu_count())]) as site:
        fleet.enrol(site.directory, str(site.directory / "precast.db"), nodes, size.nodes)
        send_facts(site, nodes, fleet.names(size.nodes))
        deploy(site, place / "code", RESOURCES)
        release(site, size.nodes)
        load = Load("lab.catalog_load", site.url, nodes, size.nodes)
        try:
            whole = ask(load, site, "whole", FetchBatch(max(size.whole, size.nodes), AT_ONCE, is_new=True), "200")
            rounds = [
                Round(ask(load, site, "known", FetchBatch(size.known, AT_ONCE), "304"), peer() if peer else None)
                for _ in range(size.rounds)
            ]
        finally:
            load.close()
        return PrecastResult(whole, rounds, measure_release(site, nodes, place / "code", size.nodes))


def measure_release(site: Site, nodes: Path, code: Path, count: int) -> dict[str, float]:
    """From the command's start until the last of the connected nodes has its catalog."""
    clients = Clients(site.url, nodes, count)
    try:
        clients.until(lambda said: said["connected"] == count)
        deploy(site, code, RESOURCES + 60)
        command_s = release(site, count)
        began_s = time.monotonic()
        clients.until(lambda said: said["fetched"] == count)
        fetched_s = command_s + time.monotonic() - began_s
    finally:
        clients.end()
    return {"nodes": count, "command_s": round(command_s, 2), "last_fetched_s": round(fetched_s, 2)}


@contextmanager
def warm_puppetserver(size: Size) -> Iterator[Callable[[], Measurement]]:
    """A puppetserver that has compiled some catalogs. Each call sends a round of requests."""
    machine = realistic.node()
    peer = puppetserver.PuppetServer()
    environment.write(realistic.files(), peer.environments / "production")
    with peer, ThreadPoolExecutor(os.cpu_count()) as threads:

        def ask(_: int) -> int:
            return len(msgspec.json.decode(peer.catalog(machine.certname, machine.facts))["resources"])

        def measure_round() -> Measurement:
            cpu_s, began_s = family_cpu_s(peer.pid), time.monotonic()
            list(threads.map(ask, range(size.peer)))
            wall_s = time.monotonic() - began_s
            server_us = (family_cpu_s(peer.pid) - cpu_s) / size.peer * 1e6
            return Measurement("puppetserver", "compiled", size.peer, size.peer / wall_s, server_us, None)

        assert statistics.median(threads.map(ask, range(size.peer_warm))) > RESOURCES * 0.9
        yield measure_round


def main() -> None:
    is_quick = parse_quick(__doc__)
    size = QUICK if is_quick else FULL
    why = "puppetserver takes minutes: only in a full run" if is_quick else puppetserver.why_missing()
    if why is None and not realistic.is_possible():
        why = "the modules of the realistic node are not installed (see .ci/run)"
    with tempfile.TemporaryDirectory() as name, nullcontext() if why else warm_puppetserver(size) as peer:
        ours = measure(Path(name), size, peer)
    rows, released = ours.rows, ours.released
    print_rows(["catalogs", "sort", "requests", "per s", "server CPU us", "client CPU us"], rows)
    print()
    print_rows(["release to connected nodes", *released], [("precast", *released.values())])
    if why:
        print(f"\nnot measured: {why}")
    ratios = [round_.times for round_ in ours.rounds if round_.times is not None]
    times = statistics.median(ratios) if ratios else None
    if ratios:
        print(f"\ntimes puppetserver, round by round: {', '.join(f'{ratio:,.0f}' for ratio in ratios)}")
    goal = Goal(
        "fetch-304", times and round(times), TIMES_TARGET, None if times is None else times >= TIMES_TARGET, why
    )
    figures = {
        "catalogs": {f"{row.whose}, {row.sort}": row.figures for row in rows},
        "times_by_round": [round(ratio) for ratio in ratios],
        "release": released,
    }
    finish("fetch", is_quick, figures, [goal])


if __name__ == "__main__":
    main()
