"""A real server with its own authority, on a loopback port, and machines that enrol as its nodes."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.server_process import PRECAST, ServerProcess
from precast.agent.identity.enrolment import Identity
from precast.base import https


class Site:
    """A context manager: the server runs inside the block, and can be killed and started again on the same port."""

    def __init__(self, directory: Path, database: str | None = None, words: Sequence[str] = ()) -> None:
        self.directory = directory
        self.database_words = ["--database", database] if database else []
        self.words = list(words)  # more of the server's command line
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self._server = ServerProcess(directory)
        self._made: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._made = self.run("server", "init", "--data", str(self.directory), *self.database_words)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.is_running():
            self.stop()

    def is_running(self) -> bool:
        return self._server.is_running()

    @property
    def log(self) -> str:
        return self._server.log

    def run_by(self, prefix: Sequence[str]) -> None:
        """Start the server by another command from its next start on, such as one that changes its clock."""
        self._server.prefix = list(prefix)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that a client of this server needs."""
        return {
            **os.environ,
            "PRECAST_URL": self.url,
            "PRECAST_CA": self._made.get("authority", ""),
            "PRECAST_TOKEN": self._made.get("token", ""),
        }

    @property
    def pid(self) -> int:
        assert self._server.popen is not None, "the server was started"
        return self._server.popen.pid

    def run(self, *args: str) -> Any:
        """Run a `precast` command with --json and return the decoded output."""
        done = subprocess.run(
            [PRECAST, *args, "--json"], env=self.environment, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    def status(self) -> Any:
        """What `precast status` says; its exit code says whether there are problems, and is not looked at."""
        done = subprocess.run([PRECAST, "status", "--json"], env=self.environment, capture_output=True, text=True)
        return json.loads(done.stdout)

    def session_of(self, node: str) -> dict[str, Any]:
        """The state of a node's session, as this server reports it."""
        authority = Path(self.environment["PRECAST_CA"]).read_text()
        headers = {"Authorization": f"Bearer {self.environment['PRECAST_TOKEN']}"}
        answer = https.call(
            self.url, https.trust_authority(authority), "GET", f"/v1/nodes/{node}/session", headers=headers
        )
        return https.read_answer(self.url, answer, dict[str, Any])

    def start(self) -> None:
        self._server.start(self.port, [*self.database_words, *self.words])

    def twin(self) -> "Site":
        """A second server of the same site on the same database, not started yet."""
        twin = Site(self.directory)
        twin.database_words, twin._made = self.database_words, self._made
        return twin

    def kill(self) -> None:
        self._server.end(signal.SIGKILL)

    def stop(self) -> None:
        self._server.end(signal.SIGTERM)

    def enrol(self, name: str) -> Identity:
        token = self.run("token", "enrol", name)["token"]
        identity = Identity(self.directory / "nodes" / name)
        identity.enrol(self.url, token, name)
        return identity


def free_port() -> int:
    """A port of loopback that is not in use now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
