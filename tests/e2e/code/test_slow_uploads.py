"""Uploads that drip hold up nobody but their own caller."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from precast.api.http.uploads import PLACES
from precast.base import https
from precast.wire.code.content_frames import encode_header
from tests.e2e.precast_command import DEADLINE_S, assert_fine
from tests.e2e.precast_server import Server, precast, running

# More than a process receives at the same time from one caller, and fewer than the quota of requests in progress.
DRIPS = 40
assert PLACES < DRIPS < 64


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(Server.init(tmp_path / "data")) as started:
        yield started


def drip(server: Server, token: str) -> ssl.SSLSocket:
    """Begin an upload of a large file, and send its first byte only."""
    context = https.trust_authority(server.authority.read_text())
    plain = socket.create_connection(("127.0.0.1", server.port), DEADLINE_S)
    connection = context.wrap_socket(plain, server_hostname="127.0.0.1")
    header = encode_header("0" * 64, 50_000_000)
    head = (
        "POST /v1/environments/slow/content HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(header) + 50_000_000}\r\n\r\n"
    )
    connection.sendall(head.encode() + header + b"x")
    return connection


def test_dripping_uploads_of_one_token_do_not_hold_up_the_deploy_of_another(server: Server, tmp_path: Path) -> None:
    slow, other = (
        server.read("token", "person", name, "--role", "operator", "--environment", name)["token"]
        for name in ("slow", "fast")
    )
    code = tmp_path / "code"
    (code / "manifests").mkdir(parents=True)
    (code / "manifests/site.pp").write_text("notify { hello: }\n")
    with ExitStack() as drips:
        for _ in range(DRIPS):
            drips.enter_context(drip(server, slow))
        deployed = precast("env", "deploy", "fast", "--from", code, env={**server.env, "PRECAST_TOKEN": other})
        assert_fine(deployed)
        # The admin is not held up either, and neither are the other requests of the slow caller.
        assert_fine(precast("env", "deploy", "production", "--from", code, env=server.env))
        assert_fine(precast("env", "list", env={**server.env, "PRECAST_TOKEN": slow}))
