"""A real `precast server` as a process, and the ways to talk to it."""

import json
import signal
import ssl
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple

from lab.server_process import ServerProcess
from precast.base import https
from tests.e2e.precast_command import DEADLINE_S, PRECAST, Ran, environment


class Came(NamedTuple):
    """An answer of the server."""

    status: int
    kind: str
    body: Any


def precast(*words: str | Path, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()) -> Ran:
    """Run `precast …` to its end."""
    done = subprocess.run(
        [*prefix, PRECAST, *map(str, words)],
        capture_output=True,
        check=False,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


class Server:
    """One server process with its data."""

    def __init__(self, data: Path, admin: str, database: str = "") -> None:
        self.data = data
        self.admin = admin
        self.database = database
        self.port = 0
        self.more: list[str] = []  # words of its command line
        self._server = ServerProcess(data)
        self.authority = data / "authority" / "certificate.pem"

    @classmethod
    def init(cls, data: Path, database: str = "") -> "Server":
        ran = precast("server", "init", "--json", "--data", data, *(["--database", database] if database else []))
        assert (ran.code, ran.err) == (0, ""), ran
        return cls(data, json.loads(ran.out)["token"], database)

    def start(self) -> None:
        """Start it and wait for the line that says where it serves."""
        database = ["--database", self.database] if self.database else []
        self.port = self._server.start(self.port, [*database, *self.more])

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it; its exit code."""
        return self._server.end(number)

    @property
    def process(self) -> "subprocess.Popen[str] | None":
        return self._server.popen

    @property
    def log(self) -> str:
        return self._server.log

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        """What makes a command an admin's of this server."""
        return {"PRECAST_URL": self.url, "PRECAST_CA": str(self.authority), "PRECAST_TOKEN": self.admin}

    def command(self, *words: str | Path) -> Ran:
        return precast(*words, env=self.env)

    def read(self, *words: str) -> Any:
        """What a command with --json says."""
        ran = self.command(*words, "--json")
        assert (ran.code, ran.err) == (0, ""), ran
        return json.loads(ran.out)

    def read_any(self, *words: str) -> Any:
        """The same for a command whose exit code says what it found."""
        return json.loads(self.command(*words, "--json").out)

    def enrol(self, root: Path, name: str, token: str, *words: str) -> Ran:
        return precast("agent", "enrol", "--url", self.url, "--root", root, "--name", name, "--token", token, *words)

    def ask(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        node: Path | None = None,
    ) -> Came:
        """One request over TLS; `node` is the directory of a node's key and certificate."""
        context = https.trusting(self.authority.read_text())
        if node is not None:
            context.load_cert_chain(node / "certificate.pem", node / "key.pem")
        connection = HTTPSConnection("127.0.0.1", self.port, context=context, timeout=DEADLINE_S)
        try:
            shown = {} if token is None else {"Authorization": f"Bearer {token}"}
            connection.request(method, path, body, {**shown, **(headers or {})})
            came = connection.getresponse()
            data = came.read()
        finally:
            connection.close()
        kind = (came.getheader("Content-Type") or "").partition(";")[0]
        return Came(came.status, kind, json.loads(data) if kind.endswith("json") else data.decode())

    def headers(self, path: str) -> dict[str, str]:
        """The headers of an answer."""
        connection = HTTPSConnection(
            "127.0.0.1", self.port, context=https.trusting(self.authority.read_text()), timeout=DEADLINE_S
        )
        try:
            connection.request("GET", path)
            return dict(connection.getresponse().getheaders())
        finally:
            connection.close()


@contextmanager
def running(server: Server) -> Iterator[Server]:
    server.start()
    try:
        yield server
    finally:
        if server.process is not None:
            server.stop(signal.SIGKILL)


def tls_error(server: Server, context: ssl.SSLContext) -> str:
    """Why a handshake fails; empty if it does not."""
    connection = HTTPSConnection("127.0.0.1", server.port, context=context, timeout=DEADLINE_S)
    try:
        connection.connect()
    except ssl.SSLError as error:
        return error.reason or str(error)
    finally:
        connection.close()
    return ""


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777
