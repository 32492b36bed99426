"""Every command on a node that asks a server does so by a process of an unprivileged user: the kernel says whose the connection is."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.e2e.precast_server import Server, precast, running

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to drop its privileges")
ROOT = 0
WAIT_S = 10


class Listener:
    """Accepts a connection, asks the kernel whose it is, and hangs up."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._socket.getsockname()[1]}"
        self.owners: list[int] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                peer, (_, port) = self._socket.accept()
            except OSError:
                return
            self.owners.append(_owner(port))
            peer.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


def _owner(port: int) -> int:
    """The user of the connection with this local port on the loopback address.

    The kernel gives its table in pieces, and a piece read while connections of others come and go can lack a row.
    """
    local = f"0100007F:{port:04X}"
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        owners = {int(row[7]) for row in rows if row[1] == local}
        if len(owners) == 1:
            return owners.pop()
    raise LookupError(f"no owner of port {port} within {WAIT_S} s")


@pytest.fixture(scope="module")
def enrolled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The root of an enrolled node, and a token of its server, which is gone."""
    directory = tmp_path_factory.mktemp("network-user")
    with running(Server.init(directory / "site")) as server:
        token = str(server.read("token", "enrol", "web1")["token"])
        done = server.enrol(directory / "node", "web1", token)
        assert done.code == 0, done.err
        return directory / "node", token


@pytest.mark.parametrize("command", ["enrol", "renew", "facts", "fetch"])
def test_command_asks_a_server_by_an_unprivileged_process(
    enrolled: tuple[Path, str], tmp_path: Path, command: str
) -> None:
    root, token = enrolled
    listener = Listener()
    words: list[str | Path]
    words = ["--root", tmp_path, "--name", "web1", "--token", token] if command == "enrol" else ["--root", root]
    done = precast("agent", command, "--url", listener.url, *words)
    listener.close()
    assert done.code != 0
    assert "[HTTP-002]" in done.err
    assert listener.owners
    assert ROOT not in listener.owners
