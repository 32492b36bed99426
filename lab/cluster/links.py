"""A network link between two parts of a site: a haproxy of its own. It can be cut, or held: then nothing passes, and no end sees it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.site import free_port

DEADLINE_S = 30.0
# Long timeouts, as for sessions: a link that closes idle connections would be a fault of its own.
_CONFIGURATION = """
global
    maxconn 4000
defaults
    mode tcp
    balance leastconn
    timeout connect 3s
    timeout client 2h
    timeout server 2h
    timeout tunnel 2h
    timeout check 2s
    retries 3
    option redispatch
listen link
    bind 127.0.0.1:{port}
{servers}
"""


class Link:
    """A context manager: accepts connections on a loopback port and passes them on to one of the targets.

    A target is HOST:PORT or unix@PATH. With `is_checked`, a target that answers no TLS handshake gets no new connections.
    """

    def __init__(self, directory: Path, name: str, targets: Sequence[str], *, is_checked: bool = False) -> None:
        self.port = free_port()
        directory.mkdir(parents=True, exist_ok=True)
        self._configuration = directory / f"{name}.cfg"
        self._log = directory / f"{name}.log"
        check = " check inter 500ms fall 2 rise 1 check-ssl verify none" if is_checked else ""
        servers = "\n".join(f"    server s{number} {target}{check}" for number, target in enumerate(targets))
        self._configuration.write_text(_CONFIGURATION.format(port=self.port, servers=servers))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.restore()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()

    def cut(self) -> None:
        """Close all connections, and refuse new ones."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restore(self) -> None:
        """Pass connections on again after a cut."""
        program = shutil.which("haproxy") or "/usr/sbin/haproxy"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-db", "-f", str(self._configuration)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        until_s = time.monotonic() + DEADLINE_S
        while not _is_listening(self.port):
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < until_s, self._log.read_text()
            time.sleep(0.02)

    def hold(self) -> None:
        """Let nothing pass. Connections stay open, and neither side is told."""
        self._signal(signal.SIGSTOP)

    def release(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "the link is not cut"
        os.kill(self._process.pid, number)


def _is_listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
