"""Opens a websocket to a server as this node, and explains in plain words why it cannot be opened."""

import asyncio
import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus

from precast.agent import issues
from precast.agent.connection.backoff import EndReason
from precast.agent.connection.session_socket import ConnectionEnded
from precast.base import clock_differences
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.base.https import Problem, split_url
from precast.wire import issues as wire_issues
from precast.wire import sessions as session

# For one address of a server; the caller sets a deadline for the whole.
DIAL_S = 10.0
CLOSE_S = 2.0
# The lower these are, the fewer bytes are buffered in memory; a record of facts fits.
QUEUE_FRAMES = 4
WRITE_BYTES = 32 * 1024
CLOSED_EARLY = "the server closed the connection before it answered"
# The HTTP statuses of a server that does not accept our certificate.
DENIED = (401, 403)

_REASONS_BY_CODE = {
    session.CLOSE_FENCED: EndReason.FENCED,
    session.CLOSE_REVOKED: EndReason.REVOKED,
    session.CLOSE_EXPIRED: EndReason.CLOCK,
    session.CLOSE_RECONNECT: EndReason.MOVED,
}


Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]


class WebSocket:
    """A websocket of this process as a session uses it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, data: bytes) -> None:
        try:
            await self._socket.send(data, text=True)
        except ConnectionClosed as end:
            raise ended_by_close(end) from end

    async def recv(self) -> bytes:
        try:
            return await self._socket.recv(decode=False)
        except ConnectionClosed as end:
            raise ended_by_close(end) from end

    async def ping(self) -> None:
        try:
            await (await self._socket.ping())
        except ConnectionClosed as end:
            raise ended_by_close(end) from end

    async def close(self) -> None:
        await self._socket.close()

    def abort(self) -> None:
        self._socket.transport.abort()


class DirectConnector:
    """Opens connections in this process."""

    def __init__(self, make_context: Callable[[], ssl.SSLContext]) -> None:
        self._make_context = make_context

    async def open(self, url: str) -> WebSocket:
        """Open a websocket for a session with a server. Raises ConnectionEnded. Cancelling closes it."""
        try:
            context = self._make_context()
        except PrecastError as error:
            reason = EndReason.NOT_ENROLLED if issues.NOT_ENROLLED.matches(error) else EndReason.LOCAL
            raise ConnectionEnded(reason, f"{error.message} [{error.code}]; {error.hint}") from error
        return WebSocket(await open_socket(url, context))


async def open_socket(url: str, context: ssl.SSLContext) -> ClientConnection:
    """Open a websocket for a session with a server. Raises ConnectionEnded. Cancelling closes the socket."""
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
        if clock_differences.is_about_time(error):
            raise await _ended_by_clock(host, port, f"the server's certificate: {error.verify_message}") from error
        why = f"this machine does not trust the server's certificate: {error.verify_message}"
        raise ConnectionEnded(EndReason.UNTRUSTED, why) from error
    except InvalidStatus as error:
        raise _ended_by_status(error) from error
    except InvalidMessage as error:
        # In TLS 1.3 a server cannot answer to a client's certificate: one that does not accept ours just closes the connection.
        ended = await _ended_by_clock(host, port, CLOSED_EARLY)
        raise (ConnectionEnded(EndReason.FAILED, CLOSED_EARLY) if ended.why == CLOSED_EARLY else ended) from error
    except (ConnectionError, ssl.SSLEOFError) as error:
        # So does a load balancer that has no server to pass the connection on to. It costs nobody anything.
        raise ConnectionEnded(EndReason.UNREACHABLE, "the connection was closed before the TLS handshake") from error
    except (OSError, EOFError, InvalidHandshake) as error:
        raise ConnectionEnded(EndReason.FAILED, f"no session could be opened: {_describe(error)}") from error


async def _ended_by_clock(host: str, port: int, why: str) -> ConnectionEnded:
    """Compare the clocks of both sides, and say which is ahead of the other."""
    difference = clock_differences.explain_difference(SystemClock().now(), await _ask_server_time(host, port))
    return ConnectionEnded(EndReason.CLOCK, f"{difference} ({why})" if difference else why)


async def _ask_server_time(host: str, port: int) -> datetime | None:
    """As `clock_differences.ask_server_time`, without blocking."""
    try:
        async with asyncio.timeout(clock_differences.ASK_S):
            dialled = await _dial(host, port)
            reader, writer = await asyncio.open_connection(
                sock=dialled, ssl=clock_differences.trust_any(), server_hostname=host
            )
            try:
                writer.write(clock_differences.ASK)
                return clock_differences.parse_server_time(await reader.read(clock_differences.MAX_ANSWER_BYTES))
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError, ConnectionEnded):
        return None


def ended_by_close(end: ConnectionClosed) -> ConnectionEnded:
    """Translate the close of a websocket."""
    if end.rcvd is None:
        return ConnectionEnded(EndReason.FAILED, "the connection was lost")
    why = end.rcvd.reason or f"the server closed the connection (code {end.rcvd.code})"
    return ConnectionEnded(_REASONS_BY_CODE.get(end.rcvd.code, EndReason.FAILED), why)


async def _dial(host: str, port: int) -> socket.socket:
    """Open a TCP connection to the first address that accepts it. Raises ConnectionEnded."""
    loop = asyncio.get_running_loop()
    why = "its name has no address"
    try:
        addresses = await _resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise ConnectionEnded(EndReason.UNREACHABLE, f"its name cannot be resolved: {_describe(error)}") from error
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
            # The text of asyncio's own error repeats the address.
            why = os.strerror(error.errno) if error.errno else "it does not answer"
        except BaseException:
            dialled.close()
            raise
    raise ConnectionEnded(EndReason.UNREACHABLE, why)


async def _resolve(host: str, port: int) -> Sequence[Address]:
    """Resolve a name in a thread of our own.

    The loop's executor would keep its thread for good, and delay the end of the daemon if a name server does not answer.
    """
    with contextlib.suppress(socket.gaierror):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    loop = asyncio.get_running_loop()
    resolved: asyncio.Future[Sequence[Address]] = loop.create_future()

    def settle(set_outcome: Callable[[Any], None], outcome: object) -> None:
        if not resolved.done():
            set_outcome(outcome)

    def look_up() -> None:
        answer: tuple[Callable[[Any], None], object]
        try:
            answer = resolved.set_result, socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            answer = resolved.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has ended, and no task waits for the answer
            loop.call_soon_threadsafe(settle, *answer)

    threading.Thread(target=look_up, name="precast-name", daemon=True).start()
    return await resolved


def _ended_by_status(error: InvalidStatus) -> ConnectionEnded:
    """Translate an HTTP answer that is not the upgrade to a websocket."""
    status, code = error.response.status_code, ""
    try:
        problem = msgspec.json.decode(error.response.body or b"", type=Problem)
        why, code = f"{problem.detail} [{problem.code}]", problem.code
    except (msgspec.MsgspecError, UnicodeDecodeError):
        why = f"it does not answer like a Precast server (status {status})"
    retry_after = error.response.headers.get("Retry-After", "")
    if retry_after.isascii() and retry_after.isdigit():
        return ConnectionEnded(EndReason.REFUSED, why, (float(retry_after), 1.5 * float(retry_after) + 1))
    if code == wire_issues.CERTIFICATE_EXPIRED.code:
        return ConnectionEnded(EndReason.CLOCK, why)
    return ConnectionEnded(EndReason.REVOKED if status in DENIED else EndReason.FAILED, why)


def _describe(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
