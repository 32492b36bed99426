"""A real `precast server` process, and functions that send it commands and requests."""

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
from tests.e2e.precast_command import DEADLINE_S, PRECAST, CommandResult, environment


class HttpResponse(NamedTuple):
    """A response of the server."""

    status: int
    kind: str
    body: Any


def precast(*words: str | Path, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()) -> CommandResult:
    """Run `precast …` to its end."""
    done = subprocess.run(
        [*prefix, PRECAST, *map(str, words)],
        capture_output=True,
        check=False,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
    )
    return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())


class Server:
    """A server process and its data directory."""

    def __init__(self, data: Path, admin: str, database: str = "") -> None:
        self.data = data
        self.admin = admin
        self.database = database
        self.port = 0
        self.more: list[str] = []  # further words of its command line
        self.prefix: list[str] = []  # a command that runs the server
        self._server = ServerProcess(data)
        self.authority = data / "authority" / "certificate.pem"

    @classmethod
    def init(cls, data: Path, database: str = "") -> "Server":
        ran = precast("server", "init", "--json", "--data", data, *(["--database", database] if database else []))
        assert (ran.code, ran.err) == (0, ""), ran
        return cls(data, json.loads(ran.out)["token"], database)

    def start(self) -> None:
        """Start the process and wait for the line with its address."""
        database = ["--database", self.database] if self.database else []
        self._server.prefix = self.prefix
        self.port = self._server.start(self.port, [*database, *self.more])

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the process with a signal and return its exit code."""
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
        """The environment of a command that an admin of this server runs."""
        return {"PRECAST_URL": self.url, "PRECAST_CA": str(self.authority), "PRECAST_TOKEN": self.admin}

    def command(self, *words: str | Path) -> CommandResult:
        return precast(*words, env=self.env)

    def read(self, *words: str) -> Any:
        """The output of a command with --json, which must succeed."""
        ran = self.command(*words, "--json")
        assert (ran.code, ran.err) == (0, ""), ran
        return json.loads(ran.out)

    def read_any(self, *words: str) -> Any:
        """The output of a command with --json, whatever its exit code."""
        return json.loads(self.command(*words, "--json").out)

    def enrol(self, root: Path, name: str, token: str, *words: str) -> CommandResult:
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
    ) -> HttpResponse:
        """Send one request over TLS. `node` is the directory of a node's key and certificate."""
        context = https.trust_authority(self.authority.read_text())
        if node is not None:
            context.load_cert_chain(node / "certificate.pem", node / "key.pem")
        connection = HTTPSConnection("127.0.0.1", self.port, context=context, timeout=DEADLINE_S)
        try:
            credentials = {} if token is None else {"Authorization": f"Bearer {token}"}
            connection.request(method, path, body, {**credentials, **(headers or {})})
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        kind = (response.getheader("Content-Type") or "").partition(";")[0]
        return HttpResponse(response.status, kind, json.loads(data) if kind.endswith("json") else data.decode())

    def headers(self, path: str) -> dict[str, str]:
        """The headers of a response."""
        connection = HTTPSConnection(
            "127.0.0.1", self.port, context=https.trust_authority(self.authority.read_text()), timeout=DEADLINE_S
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
    """The reason why a TLS handshake fails; empty if it succeeds."""
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
