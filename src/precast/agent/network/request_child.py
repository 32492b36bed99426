"""The network process of a command: makes the requests of root, and hands the answers over in pieces. It holds nothing between requests."""

import contextlib
import os
import socket
import ssl
import sys
from collections.abc import Iterator

from precast.agent.network.frames import receive_frame, send_frame
from precast.agent.network.messages import (
    FROM_ROOT,
    MAX_PIECE_BYTES,
    USED_HEADERS,
    Ask,
    End,
    Failed,
    Head,
    Piece,
)
from precast.agent.network.privileges import drop_privileges
from precast.base import https
from precast.base.errors import PrecastError

_KINDS = ("unavailable", "denied", "input")


def serve_requests(peer: socket.socket, context: ssl.SSLContext, user: str) -> None:
    """Drop all privileges, then serve root's requests until it closes the socket. Never returns: the process ends."""
    code = 1
    try:
        send_frame(peer, drop_privileges(user, [peer.fileno()]))
        with contextlib.suppress(EOFError, OSError):
            while True:
                asked = receive_frame(peer, FROM_ROOT)
                assert isinstance(asked, Ask), "content follows only its own request, which has read it"
                _serve(peer, context, asked)
        code = 0
    except Exception as error:  # noqa: BLE001 - the boundary of the process: root sees that it has ended
        print(f"precast: the network process failed: {error}", file=sys.stderr, flush=True)  # noqa: T201
    finally:
        os._exit(code)


def _serve(peer: socket.socket, context: ssl.SSLContext, asked: Ask) -> None:
    content = _receive_content(peer, asked.content_bytes)
    body = content if asked.content_bytes else asked.body
    try:
        with https.open_response(asked.url, context, asked.method, asked.path, body, asked.headers) as response:
            found = {name: response.headers.get(name) for name in USED_HEADERS}
            send_frame(peer, Head(response.status, {name: value for name, value in found.items() if value}))
            expected, received = response.length, 0
            while data := response.read(MAX_PIECE_BYTES):
                received += len(data)
                send_frame(peer, Piece(data))
            https.check_length(asked.url, expected, received)
        send_frame(peer, End())
    except PrecastError as error:
        for _ in content:  # root sends all of it, whether the server reads it or not
            pass
        kind = error.kind.value
        shown = "unavailable" if kind not in _KINDS else kind
        failure = Failed(shown, error.code, error.message[:2000], (error.hint or "")[:2000])  # type: ignore[arg-type]
        send_frame(peer, failure)


def _receive_content(peer: socket.socket, size: int) -> Iterator[bytes]:
    """The content that root sends after its request."""
    left = size
    while left > 0:
        piece = receive_frame(peer, FROM_ROOT)
        assert isinstance(piece, Piece), "root sends no other message before the content is complete"
        left -= len(piece.data)
        yield piece.data
