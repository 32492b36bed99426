"""Hundreds of concurrent connections, each with one request in flight, with little overhead: a load shares the processors with the server
that it measures, so there is no event loop, and TLS runs directly on the sockets.
"""

import select
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

READ_BYTES = 64 * 1024
DEADLINE_S = 60.0
HANDSHAKES = 4
# The first byte of the close frame that a websocket server sends before it closes.
GOOD_BYE = b"\x88"
WOULD_WAIT = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)


class LoadConnection:
    """One connection with one request in flight. Subclasses define where a response ends."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), DEADLINE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.buffer = b""
        self.unsent = b""
        self.waiting: deque[bytes] = deque()
        self.is_busy = False

    def cut(self) -> bytes | None:
        """Remove a complete response from the buffer and return it, or return None."""
        raise NotImplementedError

    def send(self, request: bytes) -> bool:
        """Start to send a request. Returns whether all of it is sent; if not, call `send_rest` when the socket is writable."""
        self.is_busy, self.unsent = True, request
        return self.send_rest()

    def send_rest(self) -> bool:
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
        except WOULD_WAIT:
            return False
        return True

    def hear(self) -> Sequence[bytes]:
        """Receive data and return the complete responses. Raises ConnectionError at the end of the connection."""
        try:
            received = self.socket.recv(READ_BYTES)
        except WOULD_WAIT:
            return []
        if not received:
            raise ConnectionResetError("the server has closed a connection")
        self.buffer += received
        answers = []
        while self.buffer and (answer := self.cut()) is not None:
            answers.append(answer)
        return answers

    def is_open(self) -> bool:
        """Whether the connection is open. An idle connection receives nothing but a close."""
        try:
            received = self.socket.recv(READ_BYTES)
        except WOULD_WAIT:
            return True
        except OSError:
            return False
        assert not received or received.startswith(GOOD_BYE), received[:200]
        return False


class HttpConnection(LoadConnection):
    """A connection for HTTP requests, which the server answers in their order."""

    def cut(self) -> bytes | None:
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        status = head[9:12]
        if not end or not (status == b"304" or _is_whole(head.lower(), body)):
            return None
        self.buffer = b""
        return self.answer(status, body)

    def answer(self, status: bytes, body: bytes) -> bytes:
        """The form in which a response is returned to the caller."""
        return status + b" " + body


def _is_whole(head: bytes, body: bytes) -> bool:
    if b"transfer-encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    _, separator, rest = head.partition(b"content-length:")
    return bool(separator) and len(body) >= int(rest.partition(b"\r\n")[0])


L = TypeVar("L", bound=LoadConnection)


def reopen(lines: list[L], connect: Callable[[int], L], count: int) -> None:
    """Connect the nodes that have no open connection: a server closes idle connections."""
    closed = [node for node in range(count) if node >= len(lines) or not lines[node].is_open()]
    with ThreadPoolExecutor(HANDSHAKES) as threads:
        for node, line in zip(closed, threads.map(connect, closed), strict=True):
            line.socket.setblocking(False)
            if node < len(lines):
                lines[node].socket.close()
            lines[node : node + 1] = [line]


def converse(lines: Sequence[LoadConnection], requests: Iterable[tuple[int, bytes]], at_once: int) -> list[bytes]:
    """Send requests, each on the connection of its number and `at_once` concurrently, and return all responses.

    Raises ConnectionError, or TimeoutError if no connection receives anything within the deadline.
    """
    with select.epoll(len(lines)) as poll:
        conversation = _Conversation(poll, lines, iter(requests))
        for _ in range(at_once):
            conversation.send_next()
        while len(conversation.answers) < conversation.begun:
            conversation.process_events()
        return conversation.answers


class _Conversation:
    def __init__(
        self, poll: select.epoll, lines: Sequence[LoadConnection], requests: Iterator[tuple[int, bytes]]
    ) -> None:
        self._poll, self._lines, self._requests = poll, lines, requests
        self._by_number = {line.socket.fileno(): line for line in lines}
        for number in self._by_number:
            poll.register(number, select.EPOLLIN)
        self.begun = 0
        self.answers: list[bytes] = []

    def send_next(self) -> None:
        """Send the next request, or queue it behind the request in flight on its connection."""
        if (numbered_request := next(self._requests, None)) is None:
            return
        self.begun += 1
        line, request = self._lines[numbered_request[0]], numbered_request[1]
        if line.is_busy:
            line.waiting.append(request)
        else:
            self._send(line, request)

    def process_events(self) -> None:
        """Wait until a socket is ready, then send and receive."""
        ready = self._poll.poll(DEADLINE_S)
        if not ready:
            raise TimeoutError(f"{self.begun - len(self.answers)} requests are not answered within {DEADLINE_S:.0f} s")
        for number, events in ready:
            line = self._by_number[number]
            if events & select.EPOLLOUT and line.send_rest():
                self._poll.modify(number, select.EPOLLIN)
            if events == select.EPOLLOUT:
                continue
            for answer in line.hear():
                self.answers.append(answer)
                line.is_busy = False
                if line.waiting:
                    self._send(line, line.waiting.popleft())
                self.send_next()

    def _send(self, line: LoadConnection, request: bytes) -> None:
        if not line.send(request):
            self._poll.modify(line.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
