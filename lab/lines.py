"""Connections on which one thing is asked after the other, hundreds at once and as thinly as it can be: a load shares the processors with
what it measures, so there is no event loop, and TLS is spoken right on the sockets.
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
# A websocket that the other end closes says so first.
GOOD_BYE = b"\x88"
WOULD_WAIT = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)


class Line:
    """One connection with one request under way; what a request is and where an answer ends is for those who derive from it."""

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
        """Take an answer out of the buffer, if it is all there."""
        raise NotImplementedError

    def send(self, request: bytes) -> bool:
        """Begin to send; whether all of it is sent. If not, `go_on` when the socket has room."""
        self.is_busy, self.unsent = True, request
        return self.go_on()

    def go_on(self) -> bool:
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
        except WOULD_WAIT:
            return False
        return True

    def hear(self) -> Sequence[bytes]:
        """The answers that have come. Raises ConnectionError at the end of the connection."""
        try:
            came = self.socket.recv(READ_BYTES)
        except WOULD_WAIT:
            return []
        if not came:
            raise ConnectionResetError("the server has closed a connection")
        self.buffer += came
        answers = []
        while self.buffer and (answer := self.cut()) is not None:
            answers.append(answer)
        return answers

    def is_open(self) -> bool:
        """Whether the other end has not closed it. It says nothing unasked but that."""
        try:
            came = self.socket.recv(READ_BYTES)
        except WOULD_WAIT:
            return True
        except OSError:
            return False
        assert not came or came.startswith(GOOD_BYE), came[:200]
        return False


class HttpLine(Line):
    """Requests of HTTP, answered in their order."""

    def cut(self) -> bytes | None:
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        status = head[9:12]
        if not end or not (status == b"304" or _is_whole(head.lower(), body)):
            return None
        self.buffer = b""
        return self.answer(status, body)

    def answer(self, status: bytes, body: bytes) -> bytes:
        """What is told of an answer."""
        return status + b" " + body


def _is_whole(head: bytes, body: bytes) -> bool:
    if b"transfer-encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    _, found, rest = head.partition(b"content-length:")
    return bool(found) and len(body) >= int(rest.partition(b"\r\n")[0])


L = TypeVar("L", bound=Line)


def reopen(lines: list[L], connect: Callable[[int], L], count: int) -> None:
    """Connect those of so many nodes that are not: a server closes what is silent."""
    closed = [node for node in range(count) if node >= len(lines) or not lines[node].is_open()]
    with ThreadPoolExecutor(HANDSHAKES) as threads:
        for node, line in zip(closed, threads.map(connect, closed), strict=True):
            line.socket.setblocking(False)
            if node < len(lines):
                lines[node].socket.close()
            lines[node : node + 1] = [line]


def converse(lines: Sequence[Line], requests: Iterable[tuple[int, bytes]], at_once: int) -> list[bytes]:
    """Send requests, each on the line of its number and so many at once, until all are answered; the answers.

    Raises ConnectionError, or TimeoutError if nothing is heard of anybody.
    """
    with select.epoll(len(lines)) as poll:
        talk = _Conversation(poll, lines, iter(requests))
        for _ in range(at_once):
            talk.send_next()
        while len(talk.answers) < talk.begun:
            talk.go_on()
        return talk.answers


class _Conversation:
    def __init__(self, poll: select.epoll, lines: Sequence[Line], requests: Iterator[tuple[int, bytes]]) -> None:
        self._poll, self._lines, self._requests = poll, lines, requests
        self._by_number = {line.socket.fileno(): line for line in lines}
        for number in self._by_number:
            poll.register(number, select.EPOLLIN)
        self.begun = 0
        self.answers: list[bytes] = []

    def send_next(self) -> None:
        """Send the next request, or have it wait for the one before it on its line."""
        if (found := next(self._requests, None)) is None:
            return
        self.begun += 1
        line, request = self._lines[found[0]], found[1]
        if line.is_busy:
            line.waiting.append(request)
        else:
            self._send(line, request)

    def go_on(self) -> None:
        """Wait until something can be done, and do that."""
        ready = self._poll.poll(DEADLINE_S)
        if not ready:
            raise TimeoutError(f"{self.begun - len(self.answers)} requests are not answered within {DEADLINE_S:.0f} s")
        for number, events in ready:
            line = self._by_number[number]
            if events & select.EPOLLOUT and line.go_on():
                self._poll.modify(number, select.EPOLLIN)
            if events == select.EPOLLOUT:
                continue
            for answer in line.hear():
                self.answers.append(answer)
                line.is_busy = False
                if line.waiting:
                    self._send(line, line.waiting.popleft())
                self.send_next()

    def _send(self, line: Line, request: bytes) -> None:
        if not line.send(request):
            self._poll.modify(line.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
