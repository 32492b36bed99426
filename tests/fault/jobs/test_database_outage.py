"""A database that fails while the results of a command arrive: they wait on the nodes, and the server's memory does not grow with them.

Afterwards every attempt is COMPLETED with all of its output, in order and once, and a small command that begins in the flood of results
does not wait for its end.
"""

import json
import re
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from lab import fleet
from lab.light_agent import prove
from lab.postgres import PostgresServer
from lab.server_process import PRECAST
from lab.site import Site
from tests.fault.jobs.failing_servers import Person, failing_sites, until
from tests.fault.jobs.test_killed_servers import executions

FEW = 3
# How long a busy machine may need for the results of the large test.
LONGEST_S = 1_800.0
# What may wait in the server of all nodes together is 4 MB, as records; batches of them, and the allocator, need the rest. Light agents
# have no send window, so buffers of their connections fill as far as they go.
MOST_GROWTH_KB, MOST_OF_EACH_KB = 64 * 1024, 128


class Memory:
    """The memory of a server, looked at again and again; `peak_kb` is the most that it had."""

    def __init__(self, pid: int) -> None:
        self._path = Path(f"/proc/{pid}/status")
        self.peak_kb = self.first_kb = self.now_kb

    @property
    def now_kb(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+) kB", self._path.read_text())
        assert found is not None
        return int(found[1])

    def watch(self, is_over: Event) -> None:
        while not is_over.wait(0.2):
            self.peak_kb = max(self.peak_kb, self.now_kb)


@contextmanager
def measured(pid: int) -> Iterator[Memory]:
    memory, is_over = Memory(pid), Event()
    thread = Thread(target=memory.watch, args=(is_over,))
    thread.start()
    try:
        yield memory
    finally:
        is_over.set()
        thread.join()


def start(person: Person, names: list[str], *words: str) -> str:
    options = ("--json", "--wait-away", "10m", "--deadline", "30m", "--detach")
    answer = person.call("exec", *options, *names, "--", "prove", *words)
    return str(answer["id"])


def show(person: Person, job: str) -> Any:
    return person.view("run", "show", job, "--json")


def ended_at(person: Person, job: str) -> datetime | None:
    at = show(person, job)["run"]["ended_at"]
    return None if at is None else datetime.fromisoformat(at)


def outputs(site: Site, job: str, token: str) -> dict[str, list[tuple[int, str]]]:
    """The number and the text of each line, by node."""
    environment = {**site.environment, "PRECAST_TOKEN": token}
    words = [PRECAST, "exec", "watch", job, "--json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600, check=True)
    found: dict[str, list[tuple[int, str]]] = {}
    for output in json.loads(done.stdout)["output"]:
        lines = enumerate(output["lines"], output["first"])
        found.setdefault(output["node"], []).extend((number, line[1]) for number, line in lines)
    return found


def run_through_outage(directory: Path, count: int, lines: int) -> tuple[Memory, datetime, datetime]:
    """Returns the memory of the server, and when the small command and the large one ended."""
    nodes, names = directory / "nodes", fleet.names(count + FEW)
    many, few = names[:count], names[count:]
    challenge = f"{lines} {secrets.token_hex(16)}"
    with PostgresServer(is_in_memory=True) as postgres:
        database = postgres.url(postgres.create_database())
        with failing_sites(directory, database, 1, count + FEW) as (site,):
            person = Person([site])
            with measured(site.pid) as memory:
                large = start(person, many, *challenge.split())
                until(lambda: show(person, large)["run"]["counts"].get("QUEUED", 0) < count)
                assert show(person, large)["run"]["ended_at"] is None, "the outage came too late, so it proves nothing"
                postgres.kill()
                postgres.start()
                small = start(person, few, "1", secrets.token_hex(16))
                until(lambda: None not in (ended_at(person, small), ended_at(person, large)), LONGEST_S)
            token = str(site.run("token", "person", "bob", "--role", "commands")["token"])
            found = outputs(site, large, token)
            times = ended_at(person, small), ended_at(person, large)
            assert show(person, large)["run"]["counts"] == {"COMPLETED": count}
            assert show(person, small)["run"]["counts"] == {"COMPLETED": FEW}
    for name in many:
        proof = prove((nodes / name / "nonce").read_text(), name, challenge)
        assert found[name] == [(number, proof) for number in range(lines)], name
        assert executions(nodes / name) == {f"{large}.1.1": 1}
    assert times[0] is not None
    assert times[1] is not None
    return memory, times[0], times[1]


@pytest.mark.timeout(600)
def test_results_that_a_failed_database_delays_are_stored_whole_and_once(tmp_path: Path) -> None:
    memory, _, _ = run_through_outage(tmp_path, 21, 200)
    assert memory.peak_kb - memory.first_kb < MOST_GROWTH_KB + 21 * MOST_OF_EACH_KB


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_hundred_thousand_results_after_an_outage_need_little_memory_and_delay_no_small_command(
    tmp_path: Path,
) -> None:
    memory, small_at, large_at = run_through_outage(tmp_path, 500, 200)
    seconds = (large_at - small_at).total_seconds()
    print(
        f"\n{memory.first_kb} kB before, at most {memory.peak_kb} kB; the small command ended {seconds:.1f} s earlier"
    )
    assert memory.peak_kb - memory.first_kb < MOST_GROWTH_KB + 500 * MOST_OF_EACH_KB
    assert small_at < large_at
