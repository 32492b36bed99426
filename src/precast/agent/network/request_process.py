"""Root's side of the network process of a command: starts it, asks it, and checks every message that comes back.

The process is a fork of this one. It drops its privileges before it connects to anything. Root bounds what it accepts in size and in
time, and opens no file that the other side has written: there is none.
"""

import contextlib
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import IO, BinaryIO

from precast.agent import issues
from precast.agent.network import messages
from precast.agent.network.frames import receive_frame, send_frame
from precast.agent.network.http_client import content_headers, read_pieces
from precast.agent.network.request_child import serve_requests
from precast.agent.state.status_notes import NetworkNote
from precast.base.errors import Kind, PrecastError
from precast.base.https import MAX_ANSWER_BYTES, HttpAnswer

# Longer than the network process waits for a server.
SILENCE_S = 90.0
# The largest content that a server accepts; more than that cannot have the digest that the catalog names.
MAX_DOWNLOAD_BYTES = 64 * 1024**2

Serve = Callable[[socket.socket, ssl.SSLContext, str], None]


class NetworkClient:
    """Gets resources through a network process. Used by one thread."""

    def __init__(self, peer: socket.socket) -> None:
        """Waits until the process has given up its privileges. Raises DeniedError AGENT-020, UnavailableError AGENT-021."""
        self._peer = peer
        started = self._receive()
        if not isinstance(started, messages.Started):
            raise issues.NETWORK_REFUSED.error(reason="a message that is out of place")
        self.note = NetworkNote(started.uid, started.lacks)

    def get(self, url: str, path: str, headers: dict[str, str]) -> HttpAnswer:
        head = self._ask(messages.Ask(url, "GET", path, headers))
        return HttpAnswer(head.status, self._read_all(), dict(head.headers))

    def post(self, url: str, path: str, body: bytes) -> HttpAnswer:
        head = self._ask(messages.Ask(url, "POST", path, {}, body))
        return HttpAnswer(head.status, self._read_all(), dict(head.headers))

    def download(
        self, url: str, path: str, headers: dict[str, str], file: BinaryIO, begin: Callable[[int], bool]
    ) -> HttpAnswer:
        head = self._ask(messages.Ask(url, "GET", path, headers))
        if not begin(head.status):
            return HttpAnswer(head.status, self._read_all(), dict(head.headers))
        file.writelines(self._pieces(MAX_DOWNLOAD_BYTES - file.tell()))
        return HttpAnswer(head.status, b"", dict(head.headers))

    def upload(self, url: str, path: str, file: IO[bytes], size: int) -> HttpAnswer:
        self._send(messages.Ask(url, "PUT", path, content_headers(size), content_bytes=size))
        for piece in read_pieces(file, size):
            self._send(messages.Piece(piece))
        head = self._receive_head()
        return HttpAnswer(head.status, self._read_all(), dict(head.headers))

    def _read_all(self) -> bytes:
        return b"".join(self._pieces(MAX_ANSWER_BYTES))

    def _ask(self, request: messages.Ask) -> messages.Head:
        self._send(request)
        return self._receive_head()

    def _send(self, message: messages.Ask | messages.Piece) -> None:
        try:
            send_frame(self._peer, message)
        except OSError as error:
            raise issues.NETWORK_ENDED.error(reason=error.strerror or error) from None

    def _receive_head(self) -> messages.Head:
        answer = self._receive()
        if not isinstance(answer, messages.Head):
            raise issues.NETWORK_REFUSED.error(reason="a message that is out of place")
        return answer

    def _pieces(self, limit_bytes: int) -> Iterator[bytes]:
        """The pieces of the body until its end. Raises DeniedError AGENT-020 past the limit."""
        received = 0
        while not isinstance(message := self._receive(), messages.End):
            if not isinstance(message, messages.Piece):
                raise issues.NETWORK_REFUSED.error(reason="a message that is out of place")
            received += len(message.data)
            if received > limit_bytes:
                raise issues.NETWORK_REFUSED.error(reason=f"a body of more than {limit_bytes} bytes")
            yield message.data

    def _receive(self) -> messages.Started | messages.Head | messages.Piece | messages.End:
        try:
            message = receive_frame(self._peer, messages.FROM_NETWORK)
        except EOFError:
            raise issues.NETWORK_ENDED.error(reason="it has ended") from None
        except OSError as error:
            raise issues.NETWORK_ENDED.error(reason=error.strerror or "it does not answer") from None
        if isinstance(message, messages.Failed):
            raise PrecastError.of_kind(Kind(message.kind), message.code, message.message, message.hint)
        return message


@contextlib.contextmanager
def network_client(context: ssl.SSLContext, user: str, serve: Serve = serve_requests) -> Iterator[NetworkClient]:
    """Start the network process for a block, and kill it at the end. Call it before threads and databases are opened."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            serve(theirs, context, user)
        finally:
            os._exit(1)
    theirs.close()
    ours.settimeout(SILENCE_S)
    try:
        with ours:
            yield NetworkClient(ours)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
