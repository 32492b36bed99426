"""The whole output of a command on its way to a server, through a real network process and real TLS."""

import errno
import socket

import pytest

from lab.catalog_server import CatalogServer
from precast.agent.state.paths import STATE
from precast.agent.tasks.files import whole_output
from precast.agent.tasks.files.whole_output import OutputSpool
from precast.base import digests
from precast.wire.jobs.orders import WholeOutput
from tests.component.agent.tasks.files.running_task import RunningTask

LARGE = bytes(range(256)) * 4_000


def send(task: RunningTask, data: bytes) -> WholeOutput:
    with OutputSpool(task.root) as output:
        for at in range(0, len(data), 50_000):
            output.add(data[at : at + 50_000])
        return output.send_alone(task.context)


def test_output_is_sent_whole_and_leaves_nothing_on_the_node(served: RunningTask, server: CatalogServer) -> None:
    before = set((served.root / STATE).iterdir())
    assert send(served, LARGE) == WholeOutput(len(LARGE), digests.of_bytes(LARGE))
    assert server.contents == {digests.of_bytes(LARGE): LARGE}
    assert set((served.root / STATE).iterdir()) == before


def test_output_of_more_than_content_is_counted_and_not_sent(
    served: RunningTask, server: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_output, "MAX_CONTENT_BYTES", len(LARGE) - 1)
    sent = send(served, LARGE)
    assert (sent.size, sent.digest) == (len(LARGE), "")
    assert "larger than" in sent.error
    assert server.contents == {}


def test_output_for_which_the_disk_is_full_is_counted_and_says_so(
    served: RunningTask, server: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with OutputSpool(served.root) as output:
        monkeypatch.setattr(output._file, "write", fail)
        output.add(b"one")
        output.add(b"two")
        sent = output.send_alone(served.context)
    assert sent == WholeOutput(6, error="it cannot be spooled: No space left on device")
    assert server.contents == {}


def test_output_is_given_up_when_no_server_answers_in_time(task: RunningTask, served: RunningTask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        served.urls = (f"https://127.0.0.1:{silent.getsockname()[1]}",)
        served.left_s = 0.5
        sent = send(served, LARGE)
    assert (sent.size, sent.digest) == (len(LARGE), "")
    assert "AGENT-063" in sent.error or "in time" in sent.error


def test_output_that_the_server_refuses_has_its_reason(served: RunningTask, server: CatalogServer) -> None:
    server.problems = [{"status": 409, "detail": "web1 cannot send more", "code": "PLAN-191"}]
    assert send(served, LARGE) == WholeOutput(len(LARGE), error="web1 cannot send more [PLAN-191]")
