"""Opens a websocket to a server as this node, and says in our words why it cannot be opened."""

import asyncio
import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus

from precast.agent.connection.pauses import Verdict
from precast.base.https import Problem, split_url
from precast.wire import sessions as session

# For one address of a server; the caller has a deadline for all of it.
DIAL_S = 10.0
CLOSE_S = 2.0
# The lower, the fewer bytes wait in memory; a record of facts fits.
QUEUE_FRAMES = 4
WRITE_BYTES = 32 * 1024
# A server that wants another certificate from us.
DENIED = (401, 403)

_CLOSED = {
    session.CLOSE_FENCED: Verdict.FENCED,
    session.CLOSE_REVOKED: Verdict.REVOKED,
    session.CLOSE_RECONNECT: Verdict.MOVED,
}


Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]


class Over(Exception):
    """Ends a connection: how, and when to come again if the server said so."""

    def __init__(self, verdict: Verdict, why: str, told_s: tuple[float, float] = (0.0, 0.0)) -> None:
        super().__init__(why)
        self.verdict = verdict
        self.why = why
        self.told_s = told_s


async def open_socket(url: str, context: ssl.SSLContext) -> ClientConnection:
    """A websocket to a server's sessions. Raises Over. Cancelling closes it."""
    host, port = split_url(url)
    dialled = await _dial(host, port)
    name = f"[{host}]" if ":" in host else host
    try:
        return await connect(
            f"wss://{name}:{port}{session.PATH}",
            sock=dialled,
            ssl=context,
            server_hostname=host,
            proxy=None,
            compression=None,
            user_agent_header=None,
            open_timeout=None,
            ping_interval=None,
            close_timeout=CLOSE_S,
            max_size=session.MAX_FRAME_BYTES,
            max_queue=QUEUE_FRAMES,
            write_limit=WRITE_BYTES,
        )
    except ssl.SSLCertVerificationError as error:
        raise Over(Verdict.UNTRUSTED, f"it is not one we trust: {error.verify_message}") from error
    except InvalidStatus as error:
        raise _refused(error) from error
    except InvalidMessage as error:
        # TLS 1.3 has no answer to a client's certificate: a server that does not take ours just leaves.
        raise Over(Verdict.FAILED, "it left before it answered") from error
    except (OSError, EOFError, InvalidHandshake) as error:
        raise Over(Verdict.FAILED, f"no session could be opened: {_words(error)}") from error


def closed(end: ConnectionClosed) -> Over:
    """What a connection's end means."""
    if end.rcvd is None:
        return Over(Verdict.FAILED, "the connection was lost")
    why = end.rcvd.reason or f"it closed the connection (code {end.rcvd.code})"
    return Over(_CLOSED.get(end.rcvd.code, Verdict.FAILED), why)


async def _dial(host: str, port: int) -> socket.socket:
    """A TCP connection to the first address that takes it. Raises Over."""
    loop = asyncio.get_running_loop()
    why = "it has no address"
    try:
        addresses = await _look_up(host, port)
    except (OSError, UnicodeError) as error:
        raise Over(Verdict.UNREACHABLE, f"its name is not found: {_words(error)}") from error
    for family, kind, protocol, _, address in addresses:
        dialled = socket.socket(family, kind, protocol)
        dialled.setblocking(False)
        try:
            async with asyncio.timeout(DIAL_S):
                await loop.sock_connect(dialled, address)
            dialled.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return dialled
        except (OSError, TimeoutError) as error:
            dialled.close()
            # The library's own words repeat the address.
            why = os.strerror(error.errno) if error.errno else "it does not answer"
        except BaseException:
            dialled.close()
            raise
    raise Over(Verdict.UNREACHABLE, why)


async def _look_up(host: str, port: int) -> Sequence[Address]:
    """The addresses of a name. The library's thread would stay for good, and hold us up at the end if a name server does not answer."""
    with contextlib.suppress(socket.gaierror):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Sequence[Address]] = loop.create_future()

    def settle(how: Callable[[Any], None], what: object) -> None:
        if not found.done():
            how(what)

    def ask() -> None:
        answer: tuple[Callable[[Any], None], object]
        try:
            answer = found.set_result, socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            answer = found.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(settle, *answer)

    threading.Thread(target=ask, name="precast-name", daemon=True).start()
    return await found


def _refused(error: InvalidStatus) -> Over:
    """The server answers, but not with a websocket."""
    status = error.response.status_code
    try:
        problem = msgspec.json.decode(error.response.body or b"", type=Problem)
        why = f"{problem.detail} [{problem.code}]"
    except (msgspec.MsgspecError, UnicodeDecodeError):
        why = f"it does not answer like a Precast server (status {status})"
    later = error.response.headers.get("Retry-After", "")
    if later.isascii() and later.isdigit():
        return Over(Verdict.REFUSED, why, (float(later), 1.5 * float(later) + 1))
    return Over(Verdict.REVOKED if status in DENIED else Verdict.FAILED, why)


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
