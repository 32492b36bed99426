"""A server that dies during a deploy: the old version stays current or the new one is complete, and the next deploy finishes."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from lab.processes import is_alive
from tests.e2e.precast_command import DEADLINE_S, PRECAST, assert_fine, environment
from tests.e2e.precast_server import Server
from tests.fault.engine.test_disk_full import NAMESPACE, ROOT

ROUNDS = 4
FILES = 150


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    database = ""
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        database = postgres.url(postgres.create_database())
    made = Server.init(tmp_path / "data", database)
    made.start()
    yield made
    if made.process is not None:
        made.stop(signal.SIGKILL)


def write_code(place: Path, mark: str) -> None:
    """Write an environment in which every file depends on the mark."""
    for number in range(FILES):
        path = place / f"modules/m{number}/manifests/init.pp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {mark}\nclass m{number} {{ notify {{ 'm{number}': }} }}\n" + "# more\n" * 200)
    (place / "manifests").mkdir(exist_ok=True)
    (place / "manifests/site.pp").write_text(f"# {mark}\n")


def start_deploy(server: Server, place: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [PRECAST, "env", "deploy", "production", "--from", str(place), "--json"],
        env=environment(server.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def checks_of(server: Server) -> list[int]:
    """The pids of the server's processes that check code."""
    assert server.process is not None
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if b"precast.services.code.check_child" in words and int(parent) == server.process.pid:
            pids.append(int(entry.name))
    return pids


def current(server: Server) -> str:
    return str(server.read("env", "show", "production")["current"]["version"])


def test_server_killed_while_it_checks_leaves_the_old_version(server: Server, tmp_path: Path) -> None:
    code = tmp_path / "code"
    write_code(code, "first")
    assert_fine(server.command("env", "deploy", "production", "--from", code))
    before = current(server)
    write_code(code, "second")
    with start_deploy(server, code) as process:
        while not (children := checks_of(server)):
            assert process.poll() is None, "the deploy ended before the test saw its check"
        server.stop(signal.SIGKILL)
        assert process.wait(DEADLINE_S) == 75
    server.start()
    assert current(server) == before
    after = server.read("env", "deploy", "production", "--from", str(code))
    # The content that was uploaded before the server died is still stored.
    assert (after["is_new"], after["sent_files"], after["current"]["number"]) == (True, 0, 2)
    deadline_s = time.monotonic() + DEADLINE_S
    while any(map(is_alive, children)):
        assert time.monotonic() < deadline_s, "a check outlives its server"


@pytest.mark.timeout(300)
def test_server_killed_at_any_moment_of_a_deploy_leaves_one_whole_version(server: Server, tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4))
    chance = random.Random(seed)
    code = tmp_path / "code"
    write_code(code, "0")
    took = [server.read("env", "deploy", "production", "--from", str(code))["current"]["version"]]
    outcomes = []
    for number in range(1, ROUNDS + 1):
        write_code(code, str(number))
        with start_deploy(server, code) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.2, 2.5))
            server.stop(signal.SIGKILL)
            output, _ = process.communicate(timeout=DEADLINE_S)
        server.start()
        now = current(server)
        if process.returncode == 0:
            assert now == json.loads(output)["current"]["version"], f"acknowledged and lost (seed {seed})"
        again = server.read("env", "deploy", "production", "--from", str(code))
        took.append(again["current"]["version"])
        assert now in took[-2:], f"neither the old nor the new version (seed {seed})"
        outcomes.append("new" if now == took[-1] else "old")
    print(f"\nseed {seed}: after each kill the version was {outcomes}")


@pytest.mark.needs("unshare")
def test_full_disk_leaves_the_old_version_and_with_space_the_deploy_finishes(tmp_path: Path) -> None:
    if subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", str(tmp_path)], capture_output=True).returncode:
        pytest.skip("cannot mount here, not even in a namespace")
    pages = [0, 20, 100, 160, 250, 320, 800]
    words = [sys.executable, "-m", "lab.deploy_disk", str(tmp_path), *map(str, pages)]
    done = subprocess.run([*NAMESPACE, *words], cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [outcome["free_pages"] for outcome in outcomes] == pages
    for outcome in outcomes:
        assert outcome["problems"] == []
        assert outcome["again"] == 2
        assert outcome["current"] == (2 if outcome["code"] is None else 1), outcome
        # The upload directory or the database is full first.
        assert outcome["code"] in (None, "ENV-015", "STORE-006"), outcome
    assert {outcome["code"] for outcome in outcomes} == {None, "ENV-015", "STORE-006"}
