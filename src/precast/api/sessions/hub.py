"""The session hub: every node's one connection on this server, from hello to its end. `tending` looks after them meanwhile."""

import logging
import sys
import time
from collections import Counter
from typing import NamedTuple

from aiohttp import WSMsgType, web

from precast.api.http.routes import NODE, Call, Node, Route, Routes
from precast.api.sessions.arrivals import Arrivals
from precast.api.sessions.connection import Connection, Shared
from precast.api.sessions.intake import Intake
from precast.api.sessions.messages import Messages
from precast.api.sessions.sockets import SessionSocket
from precast.base.errors import PrecastError
from precast.services import issues
from precast.services.sessions.sessions import SessionService
from precast.store.sessions.sessions import Arrival, Sessions
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Hello, Record, Refused, Resend, Welcome

log = logging.getLogger("precast.sessions")

HELLO_S = 20.0
# When a server dies, its nodes come back over as long as it takes one server to take them all, at this rate.
RETURNS_PER_S = 250
LEAST_SPREAD_S = 3.0
# A node may open a second connection while the first is still thought to be open, and lose that one too.
MAX_SOCKETS = 4
# What a node may send before it is told that it is stored: when a fleet has much to tell, it waits with the nodes and not here.
WINDOW_BYTES = 64 * 1024
# Of one connection, what is read from the kernel before it was asked for.
READ_AHEAD_BYTES = 32 * 1024


class HubSettings(NamedTuple):
    """How sessions are kept."""

    heartbeat_s: float = 30.0
    cycle_s: float = 6 * 3600.0
    horizon_s: float = 900.0
    lease_s: float = 15.0


class Hub:
    """Serves sessions, from `run` to `drain`."""

    def __init__(
        self,
        service: SessionService,
        sessions: Sessions,
        messages: Messages,
        server_id: str,
        settings: HubSettings,
    ) -> None:
        self._service = service
        self._sessions = sessions
        self._kinds = messages.kinds
        self._settings = settings
        self.id = server_id
        self.name = server_id  # until it is known where we listen
        self.is_draining = False
        self.herd = 0  # how many nodes may come at once; `tending` keeps it
        self.connections: dict[str, Connection] = {}
        self._sockets: Counter[str] = Counter()
        self._shared = Shared(Intake(), Arrivals())

    def declare(self, routes: Routes) -> None:
        routes.add(
            Route(
                "GET",
                session.PATH,
                self.serve,
                NODE,
                "A node's session (websocket)",
                None,
                errors=(issues.NO_SOCKET, issues.TOO_MANY_SOCKETS),
                is_socket=True,
            )
        )

    async def serve(self, call: Call) -> web.StreamResponse:
        """One connection, from its beginning to its end."""
        node, request = call.caller, call.body
        assert isinstance(node, Node), "the route requires it"
        assert isinstance(request, web.BaseRequest), "it is a socket's route"
        if self._sockets[node.name] >= MAX_SOCKETS:
            raise issues.TOO_MANY_SOCKETS.error(node=node.name, limit=MAX_SOCKETS)
        socket = SessionSocket(
            autoping=False,
            compress=False,
            max_msg_size=session.MAX_FRAME_BYTES,
            timeout=5.0,
            # To send never waits: who takes nothing is told nothing.
            writer_limit=sys.maxsize,
        )
        if not socket.can_prepare(request):
            raise issues.NO_SOCKET.error()
        self._sockets[node.name] += 1
        try:
            await socket.prepare(request)
            _read_little_ahead(request)
            await self._converse(socket, node, request)
        except (PrecastError, ConnectionError) as error:
            log.warning("the session of %s ends: %s", node.name, error)
            await socket.close(code=session.CLOSE_UNSTORED, message=b"something is not stored; come again")
        finally:
            self._sockets[node.name] -= 1
            if not self._sockets[node.name]:
                del self._sockets[node.name]
        return socket

    async def _converse(self, socket: SessionSocket, node: Node, request: web.BaseRequest) -> None:
        hello = await _expect_hello(socket)
        if hello is None:
            await socket.close(code=session.CLOSE_PROTOCOL, message=b"a session begins with hello")
            return
        connection = await self._begin(socket, node, request, hello)
        if connection is None:
            return
        try:
            await connection.push()
            await self._listen(socket, connection)
        finally:
            try:
                await connection.settle()
            finally:
                await self._leave(connection)

    async def _begin(
        self, socket: SessionSocket, node: Node, request: web.BaseRequest, hello: Hello
    ) -> Connection | None:
        address = request.remote or ""
        arrival = Arrival(node.name, self.id, hello.instance, hello.attempts[0], address, hello.boot_id, hello.agent)
        try:
            begun = await self._service.begin(arrival, hello)
        except PrecastError as error:
            retry_s = 5.0 if error.consequence.retry else 300.0
            refused = Refused(error.code, error.message, error.hint, retry_s)
            await socket.send_bytes(session.encode(refused))
            await socket.close(code=session.CLOSE_REFUSED, message=error.code.encode())
            return None
        connection = Connection(
            socket,
            node,
            hello.instance,
            begun,
            hello.received,
            self._service,
            self._kinds,
            self._shared,
            request.protocol,
        )
        if not await self._enter(connection):
            return None
        settings = self._settings
        await connection.send(
            Welcome(
                version=begun.version,
                epoch=begun.epoch,
                server=self.name,
                received=begun.stand.received,
                heartbeat_s=settings.heartbeat_s,
                # Spread by the epoch, so that what came together does not leave together.
                cycle_s=settings.cycle_s * (0.9 + 0.2 * (begun.epoch * 0.618034 % 1)),
                horizon_s=settings.horizon_s,
                spread_s=max(LEAST_SPREAD_S, self.herd / RETURNS_PER_S),
                facts_digest=begun.facts_digest,
                catalog_digest=begun.served.digest,
                policy=begun.served.policy,
                window_bytes=WINDOW_BYTES,
            )
        )
        return connection

    async def _enter(self, connection: Connection) -> bool:
        """Know the connection, instead of an older one; False if it is the older one."""
        older = self.connections.get(connection.node.name)
        if older is not None and older.epoch > connection.epoch:
            await connection.close(session.CLOSE_FENCED, "the node has come anew")
            return False
        self.connections[connection.node.name] = connection
        if older is not None:
            await older.close(session.CLOSE_FENCED, "the node has come anew")
        return True

    async def _leave(self, connection: Connection) -> None:
        if self.connections.get(connection.node.name) is connection:
            del self.connections[connection.node.name]
        if not self.is_draining:  # then they leave together
            try:
                await self._sessions.end(self.id, [(connection.node.name, connection.epoch)])
            except PrecastError as error:
                # Somebody finds out: the node when it comes again, or another server when our lease has ended.
                log.warning("%s has left, which could not be stored: %s", connection.node.name, error)

    async def _listen(self, socket: SessionSocket, connection: Connection) -> None:
        """Hear what comes, but for records that the connection has taken by then."""
        socket.inlet.take = connection.hear
        try:
            while True:
                socket.inlet.open()
                frame = await socket.receive()
                connection.heard_s = time.monotonic()
                if frame.type is WSMsgType.PING:
                    if not connection.is_clogged:  # who takes nothing is told nothing
                        await socket.pong(frame.data)
                elif frame.type in (WSMsgType.BINARY, WSMsgType.TEXT):
                    if not await self._hear(connection, frame.data):
                        await connection.close(session.CLOSE_PROTOCOL, "this is not the protocol")
                        return
                elif frame.type is not WSMsgType.PONG:
                    return
        finally:
            socket.inlet.take = None

    async def _hear(self, connection: Connection, data: bytes | str) -> bool:
        """Do what a message says; False if it is none."""
        try:
            message = session.decode_from_node(data)
        except (ValueError, RecursionError):
            return False
        if isinstance(message, Record):
            await connection.take(message)
        elif isinstance(message, Ack):
            await connection.confirm(message.through)
        elif isinstance(message, Resend):
            await connection.repeat(message.after)
        else:
            return False
        return True


async def _expect_hello(socket: SessionSocket) -> Hello | None:
    try:
        frame = await socket.receive(timeout=HELLO_S)
        message = session.decode_from_node(frame.data) if frame.type in (WSMsgType.BINARY, WSMsgType.TEXT) else None
    except (TimeoutError, ValueError, RecursionError):
        return None
    return message if isinstance(message, Hello) else None


def _read_little_ahead(request: web.BaseRequest) -> None:
    """TLS reads 256 KB ahead if nobody says otherwise, which a whole fleet may fill at once."""
    limit = getattr(request.transport, "set_read_buffer_limits", None)
    if limit is not None:
        limit(high=READ_AHEAD_BYTES)
