"""Accepts connections and runs their TLS handshakes, as `limits` decides. It owns the listening sockets.

The event loop's own server begins every handshake at once and tells nobody before it is over. Here a connection is accepted, waits for its
turn as a plain socket, and costs nothing more until then.
"""

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import ssl
from collections import Counter
from collections.abc import Sequence

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from precast.api.http.connections import limits as reasons
from precast.api.http.connections.limits import ConnectionLimits, StrangerLimits
from precast.api.http.connections.sources import Source, source_of
from precast.base import digests

log = logging.getLogger("precast.http")

# Connections that one callback accepts, and handshakes that one turn begins: the loop serves others in between.
ACCEPTS = 64
BEGINS = 4
# Between two turns while connections wait.
TURN_EVERY_S = 0.005
SWEEP_EVERY_S = 1.0
# No file descriptor is free: existing connections have to end first.
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class IncomingConnection:
    """A connection from its acceptance to its end."""

    __slots__ = ("accepted", "caller", "has_requested", "is_dropped", "is_waiting", "opened_s", "source", "transport")

    def __init__(self, accepted: socket.socket, source: Source) -> None:
        self.source = source
        self.accepted: socket.socket | None = accepted  # until the handshake is over
        self.is_waiting = True  # for its turn: the socket is still ours to close
        self.transport: asyncio.Transport | None = None  # when the handshake is over
        self.opened_s = 0.0
        self.has_requested = False
        self.is_dropped = False
        self.caller = ""  # of an authenticated connection

    def drop(self) -> None:
        """Close the connection at once."""
        self.is_dropped = True
        if self.transport is not None:
            self.transport.abort()
        elif self.accepted is not None and self.is_waiting:
            self.accepted.close()
        elif self.accepted is not None:
            with contextlib.suppress(OSError):
                self.accepted.shutdown(socket.SHUT_RDWR)  # the handshake reads the end of the connection, and fails


class GuardedServer(web.Server):
    """aiohttp's server, whose connections the listener counts."""

    listener: "Listener"

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self.listener.on_open(handler, transport)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self.listener.on_end(handler)


class Listener:
    """Listens from `start` to `close`. `refused` counts the connections that it closed, by reason."""

    def __init__(self, server: GuardedServer, context: ssl.SSLContext, limits: ConnectionLimits) -> None:
        server.listener = self
        self._server = server
        self._context = context
        self._limits = fit_to_descriptors(limits, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._loop = asyncio.get_running_loop()
        self.strangers: StrangerLimits[IncomingConnection] = StrangerLimits(self._limits, self._loop.time())
        self.refused: Counter[str] = Counter()
        self._sockets: list[socket.socket] = []
        self._by_handler: dict[object, IncomingConnection] = {}
        self._handshakes: set[asyncio.Task[None]] = set()
        self._next_turn: asyncio.TimerHandle | None = None
        self._sweeps: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int, backlog: int, *, is_shared: bool) -> int:
        """Start to listen and return the port. Raises OSError."""
        self._sockets = await self._loop.run_in_executor(None, bind_all, host, port, backlog, is_shared)
        for listening in self._sockets:
            self._loop.add_reader(listening.fileno(), self._accept, listening)
        self._sweeps = asyncio.create_task(self._sweep())
        return int(self._sockets[0].getsockname()[1])

    def close(self) -> None:
        """Stop to listen; open connections go on."""
        for listening in self._sockets:
            self._loop.remove_reader(listening.fileno())
            listening.close()
        self._sockets = []
        if self._next_turn is not None:
            self._next_turn.cancel()
        if self._sweeps is not None:
            self._sweeps.cancel()
        for connection in self.strangers.abandon_waiting():
            connection.drop()
        for handshake in self._handshakes:
            handshake.cancel()

    def on_open(self, handler: object, transport: asyncio.Transport) -> None:
        """The handshake is over. A certificate that TLS has verified makes the connection a node's."""
        connection = self._by_handler.get(handler)
        if connection is None:
            return
        connection.accepted, connection.transport, connection.opened_s = None, transport, self._loop.time()
        channel = transport.get_extra_info("ssl_object")
        der = channel.getpeercert(binary_form=True) if channel is not None else None
        if der:
            self.authenticate(handler, f"certificate {digests.of_bytes(der)}")
        if not connection.caller:
            for crowded, reason in self.strangers.establish(connection, connection.opened_s):
                self._refuse(crowded, reason)

    def on_end(self, handler: object) -> None:
        connection = self._by_handler.pop(handler, None)
        if connection is not None:
            self.strangers.end(connection, connection.caller)

    def on_request(self, handler: object) -> None:
        """A request has arrived: the connection has met its deadline."""
        connection = self._by_handler.get(handler)
        if connection is not None:
            connection.has_requested = True

    def authenticate(self, handler: object, who: str) -> None:
        """The connection's caller has authenticated."""
        connection = self._by_handler.get(handler)
        if connection is not None and not connection.caller and self.strangers.authenticate(connection, who):
            connection.caller = who

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTS):
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                break
            except OSError as error:
                if error.errno not in EXHAUSTED:
                    raise
                self._pause(listening)
                break
            accepted.setblocking(False)
            connection = IncomingConnection(accepted, source_of(address[0]))
            for refused, reason in self.strangers.arrive(connection, connection.source, self._loop.time()):
                self._refuse(refused, reason)
        if self._next_turn is None:
            self._take_turn()

    def _pause(self, listening: socket.socket) -> None:
        log.error("no file descriptor is free; connections wait for a second")
        self._loop.remove_reader(listening.fileno())
        self._loop.call_later(1.0, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening.fileno(), self._accept, listening)

    def _take_turn(self) -> None:
        self._next_turn = None
        chosen = self.strangers.turn(self._loop.time(), BEGINS)
        for connection, reason in chosen.drop:
            self._refuse(connection, reason)
        for connection in chosen.begin:
            task = self._loop.create_task(self._shake_hands(connection), name="precast-handshake")
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)
        if self.strangers.waiting:
            self._next_turn = self._loop.call_later(TURN_EVERY_S, self._take_turn)

    async def _shake_hands(self, connection: IncomingConnection) -> None:
        accepted = connection.accepted
        assert accepted is not None, "a handshake begins once"
        connection.is_waiting = False
        handler = self._server()
        self._by_handler[handler] = connection
        try:
            with contextlib.suppress(OSError):
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                lambda: handler,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=self._limits.handshake_s,
            )
        except OSError as error:  # ssl.SSLError is one
            is_late = isinstance(error, ConnectionAbortedError)
            if not connection.is_dropped:
                self.refused[reasons.SLOW_HANDSHAKE if is_late else reasons.BAD_HANDSHAKE] += 1
        finally:
            if connection.transport is None:
                self.on_end(handler)

    def _refuse(self, connection: IncomingConnection, reason: str) -> None:
        self.refused[reason] += 1
        connection.drop()

    async def _sweep(self) -> None:
        """Close connections that send no request, and those of strangers that stay too long, for ever."""
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            now_s = self._loop.time()
            for connection in list(self._by_handler.values()):
                if connection.transport is None or connection.is_dropped:
                    continue
                age_s = now_s - connection.opened_s
                if not connection.has_requested and age_s > self._limits.first_request_s:
                    self._refuse(connection, reasons.NO_REQUEST)
                elif not connection.caller and age_s > self._limits.stranger_s:
                    self._refuse(connection, reasons.TOO_OLD)
            self.strangers.forget_idle(now_s)


def fit_to_descriptors(limits: ConnectionLimits, descriptors: int) -> ConnectionLimits:
    """Leave file descriptors to authenticated callers and to the database, also if the process may have few."""
    if descriptors == resource.RLIM_INFINITY:
        return limits
    return limits._replace(
        waiting=min(limits.waiting, max(descriptors // 2, 1)),
        handshakes=min(limits.handshakes, max(descriptors // 16, 1)),
        open=min(limits.open, max(descriptors // 8, 1)),
    )


def bind_all(host: str, port: int, backlog: int, is_shared: bool) -> list[socket.socket]:
    """Listen on every address of a host. Raises OSError, and then listens on none."""
    with contextlib.ExitStack() as opened:
        sockets = [
            opened.enter_context(_bind(family, kind, protocol, address, backlog, is_shared))
            for family, kind, protocol, address in _resolve(host, port)
        ]
        opened.pop_all()
        return sockets


def _resolve(host: str, port: int) -> Sequence[tuple[int, int, int, tuple[object, ...]]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, kind, protocol, address) for family, kind, protocol, _, address in found))


def _bind(
    family: int, kind: int, protocol: int, address: tuple[object, ...], backlog: int, is_shared: bool
) -> socket.socket:
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(backlog)
    except BaseException:
        listening.close()
        raise
    return listening
