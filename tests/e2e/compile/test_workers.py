"""Several processes on one port: killed workers are restarted, the service continues, and all end together."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from lab.processes import is_alive
from precast.agent.facts import submission
from precast.agent.identity.enrolment import Identity
from precast.agent.network.http_client import DirectHttp
from precast.base.errors import UnavailableError
from tests.e2e.precast_command import DEADLINE_S, PRECAST, assert_fine, assert_refused, environment
from tests.e2e.precast_server import Server, precast, running

COUNT = 3


@contextmanager
def several(server: Server) -> Iterator[Server]:
    server.more = ["--workers", str(COUNT)]
    with running(server):
        yield server


def children(server: Server) -> list[int]:
    assert server.process is not None
    pid = server.process.pid
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers_in_metrics(server: Server) -> set[str]:
    return set(
        re.findall(r'precast_start_time_seconds\{worker="(\d+)"\}', server.ask("GET", "/metrics", server.admin).body)
    )


def until_all_serve(server: Server) -> None:
    """Wait until the metrics list all workers; the test's timeout is the deadline."""
    wanted = {str(number) for number in range(1, COUNT + 1)}
    while len(children(server)) < COUNT or workers_in_metrics(server) != wanted:
        pass


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Server:
    if request.param == "sqlite":
        return Server.init(tmp_path / "data")
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return Server.init(tmp_path / "data", postgres.url(postgres.create_database()))


def enrol(server: Server, root: Path, name: str) -> Identity:
    assert_fine(server.enrol(root, name, server.read("token", "enrol", name)["token"]))
    return Identity(root)


def test_killed_worker_is_restarted_and_the_service_continues(server: Server, tmp_path: Path) -> None:
    with several(server):
        until_all_serve(server)
        node = enrol(server, tmp_path / "node", "web1")
        before = children(server)
        answered = 0
        for victim in before[:2]:
            os.kill(victim, signal.SIGKILL)
            for number in range(10):
                try:
                    submission.send_facts(DirectHttp(node.context()), server.url, {"number": number, "victim": victim})
                except UnavailableError:
                    # Only requests in the backlog of the killed worker are cut off; the client retries.
                    submission.send_facts(DirectHttp(node.context()), server.url, {"number": number, "victim": victim})
                answered += 1
        assert answered == 20
        until_all_serve(server)
        assert before[2] in children(server)
        assert not set(before[:2]) & set(children(server))
        assert server.log.count("ended with signal 9; it is restarted") == 2
        assert_fine(server.command("facts", "show", "web1"))
        server_log = server.log
        assert server.stop() == 0
    assert "Traceback" not in server_log


def test_each_worker_reports_the_metrics_of_all(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with several(server):
        until_all_serve(server)
        for _ in range(30):
            assert server.ask("GET", "/v1/authority").status == 200
        count = re.compile(r'precast_requests_total\{worker="(\d)",route="/v1/authority",status="200"\} (\d+)')
        counts: dict[str, int] = {}
        while sum(counts.values()) < 30:  # the metrics of other workers are at most a second old
            counts = {
                worker: int(value) for worker, value in count.findall(server.ask("GET", "/metrics", server.admin).body)
            }
        assert sum(counts.values()) == 30
        print(f"thirty requests were answered by {counts}")


def test_many_nodes_at_once_on_one_sqlite_file_are_all_acknowledged(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with several(server):
        nodes = [enrol(server, tmp_path / f"n{number}", f"node{number}") for number in range(6)]
        failed: list[BaseException] = []

        def send(node: Identity) -> None:
            try:
                for number in range(10):
                    submission.send_facts(DirectHttp(node.context()), server.url, {"number": number})
            except BaseException as error:  # noqa: BLE001 - told by the assertion below
                failed.append(error)

        senders = [threading.Thread(target=send, args=(node,)) for node in nodes]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(DEADLINE_S)
        assert failed == []
        assert "Traceback" not in server.log


def test_rotation_reaches_every_worker(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with several(server):
        until_all_serve(server)
        assert_fine(server.enrol(tmp_path / "a", "web1", server.read("token", "enrol", "web1")["token"]))
        assert_fine(server.command("ca", "rotate"))
        # Every worker accepts the certificates that any of them has signed.
        assert_fine(precast("agent", "renew", "--url", server.url, "--root", tmp_path / "a"))
        for _ in range(12):
            came = server.ask("POST", "/v1/facts", node=tmp_path / "a/var/lib/precast/agent")
            assert came.body["code"] == "API-004"
        assert_fine(server.command("ca", "rotate", "--finish"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_parent_told_to_stop_ends_with_all(tmp_path: Path, number: signal.Signals) -> None:
    server = Server.init(tmp_path / "data")
    with several(server):
        workers = children(server)
        assert len(workers) == COUNT
        assert server.stop(number) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert server.log == ""


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with several(server):
        workers = children(server)
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        while any(map(is_alive, workers)):
            pass  # each worker finishes its requests; the test's timeout is the deadline
        server.start()
        assert server.ask("GET", "/health/ready").status == 200


def test_what_is_wrong_with_a_site_is_said_once(tmp_path: Path) -> None:
    words = ["server", "--data", str(tmp_path), "--workers", "3", "--listen", "127.0.0.1:0"]
    assert_refused(precast(*words), 66, "CA-001")
    done = subprocess.run([PRECAST, *words, "--workers", "0"], env=environment(), capture_output=True, check=False)
    assert done.returncode == 64


def test_port_of_another_server_is_not_shared(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with several(server):
        for workers in ("1", "2"):
            ran = precast("server", "--data", server.data, "--workers", workers, "--listen", f"127.0.0.1:{server.port}")
            assert_refused(ran, 75, "CLI-026")
