"""Content that root sends through the network process: in pieces, and whatever the server or the process does meanwhile."""

import io
import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.catalog_server import CatalogServer
from precast.agent.identity.credentials import Credentials
from precast.agent.network import messages
from precast.agent.network.frames import receive_frame, send_frame
from precast.agent.network.privileges import drop_privileges
from precast.agent.network.request_process import network_client
from precast.base import digests
from precast.base.errors import DeniedError, PrecastError, UnavailableError
from precast.wire.plans.task_content import content_path

LARGE = bytes(range(256)) * 8_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


@pytest.mark.parametrize("data", [b"", b"small", LARGE], ids=["empty", "small", "large"])
def test_content_arrives_whole(server: CatalogServer, data: bytes) -> None:
    path = content_path(digests.of_bytes(data))
    with network_client(Credentials(server.root).context(), "precast-agent") as client:
        file = io.BytesIO(b"before" + data + b"after")
        file.seek(6)
        assert client.upload(server.url, path, file, len(data)).status == 200
        # The next request is not confused with the content.
        assert client.get(server.url, "/v1/content/none", {}).status == 404
    assert server.contents == {digests.of_bytes(data): data}


@pytest.mark.parametrize("url", ["https://127.0.0.1:1", "http://127.0.0.1"])
def test_server_that_is_away_leaves_the_process_ready_for_the_next_request(server: CatalogServer, url: str) -> None:
    path = content_path(digests.of_bytes(LARGE))
    with network_client(Credentials(server.root).context(), "precast-agent") as client:
        with pytest.raises(PrecastError) as raised:
            client.upload(url, path, io.BytesIO(LARGE), len(LARGE))
        assert raised.value.code in ("HTTP-001", "HTTP-002")
        assert client.upload(server.url, path, io.BytesIO(LARGE), len(LARGE)).status == 200


def test_server_that_hangs_up_in_the_middle_is_an_error_that_can_be_retried(server: CatalogServer) -> None:
    path = content_path(digests.of_bytes(LARGE))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = os.fork()
        if child == 0:
            connection, _ = listener.accept()
            connection.recv(1)
            connection.close()
            os._exit(0)
        with network_client(Credentials(server.root).context(), "precast-agent") as client:
            with pytest.raises(UnavailableError) as raised:
                client.upload(f"https://127.0.0.1:{listener.getsockname()[1]}", path, io.BytesIO(LARGE), len(LARGE))
            assert raised.value.code == "HTTP-002"
            assert client.upload(server.url, path, io.BytesIO(LARGE), len(LARGE)).status == 200
        os.waitpid(child, 0)


def test_file_that_is_shorter_than_announced_is_an_error_of_the_file(server: CatalogServer) -> None:
    with (
        network_client(Credentials(server.root).context(), "precast-agent") as client,
        pytest.raises(OSError, match="the file is shorter than 100 bytes"),
    ):
        client.upload(server.url, content_path("0" * 64), io.BytesIO(b"short"), 100)
    assert server.contents == {}


def test_process_that_answers_out_of_place_or_ends_is_refused(server: CatalogServer) -> None:
    def serve(answer: messages.Message | None) -> object:
        def serve_one(peer: socket.socket, context: ssl.SSLContext, user: str) -> None:
            send_frame(peer, drop_privileges(user, [peer.fileno()]))
            receive_frame(peer, messages.FROM_ROOT)
            if answer is not None:
                send_frame(peer, answer)
                peer.recv(1 << 20)
            os._exit(0)

        return serve_one

    context = Credentials(server.root).context()
    for answer, error in ((messages.Piece(b"x"), DeniedError), (None, UnavailableError)):
        with (
            network_client(context, "precast-agent", serve(answer)) as client,  # type: ignore[arg-type]
            pytest.raises(error) as raised,
        ):
            client.upload(server.url, content_path("0" * 64), io.BytesIO(b"x"), 1)
        assert raised.value.code == ("AGENT-020" if answer else "AGENT-021")
