"""The websocket endpoint of sessions: it serves each node's connection from hello to its end. `maintenance` watches open connections."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from aiohttp import WSMsgType, web

from precast.api.http.responses import conceal
from precast.api.http.routes import NODE, Call, NodeCaller, route
from precast.api.sessions.connection import WINDOW, Connection, SharedState
from precast.api.sessions.messages import SessionMessages
from precast.api.sessions.receive_budget import ReceiveBudget
from precast.api.sessions.sockets import SessionSocket
from precast.api.sessions.store_batch import StoreBatch
from precast.base.errors import PrecastError
from precast.services.futures.subscriptions import FutureHub
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.services.sessions import issues as session_issues
from precast.services.sessions.orders import OrderService
from precast.services.sessions.record_intake import RecordIntake
from precast.services.sessions.sessions import SessionService
from precast.store.sessions.sessions import Sessions, SessionStart
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Hello, Record, Refused, Resend, Subscribe, Welcome

log = logging.getLogger("precast.sessions")

HELLO_S = 20.0
# When a server dies, its nodes reconnect spread over the time that one server needs to accept them all at this rate.
RETURNS_PER_S = 250
LEAST_SPREAD_S = 3.0
# A node may open a second connection before the server notices that the first is lost, and lose the second one too.
MAX_SOCKETS = 4
# The send window of a node: how many bytes it may send beyond those acknowledged. A burst of a fleet waits on the nodes' disks, not here.
WINDOW_BYTES = 64 * 1024
# How much of a connection is read from the kernel before it is needed.
READ_AHEAD_BYTES = 32 * 1024


class SessionSettings(NamedTuple):
    """The intervals that sessions use."""

    heartbeat_s: float = 30.0
    cycle_s: float = 6 * 3600.0
    horizon_s: float = 900.0


class SessionEndpoint:
    """Accepts sessions, and has the register of the open connections by node."""

    def __init__(
        self,
        service: SessionService,
        records: RecordIntake,
        orders: OrderService,
        sessions: Sessions,
        messages: SessionMessages,
        server_id: str,
        settings: SessionSettings,
        futures: FutureHub,
    ) -> None:
        self._service = service
        self._records = records
        self._orders = orders
        self._sessions = sessions
        self._kinds = messages.kinds
        self._settings, self._futures = settings, futures
        self.server_id = server_id
        self.server_name = server_id  # replaced by the address once the server listens
        self.is_draining = False
        self.expected_reconnects = 0  # how many nodes may reconnect at once; `maintenance` updates it
        self.connections: dict[str, Connection] = {}
        self._sockets: Counter[str] = Counter()
        self._beginning: Counter[str] = Counter()  # by node; at most one for each socket
        self.lag = IntakeLag(time.monotonic)
        self._shared = SharedState(ReceiveBudget(), StoreBatch(), self.lag)

    @route(
        "GET",
        session.PATH,
        NODE,
        "A node's session (websocket)",
        None,
        errors=(session_issues.NOT_A_WEBSOCKET, session_issues.TOO_MANY_SOCKETS),
        is_socket=True,
    )
    async def serve(self, call: Call) -> web.StreamResponse:
        """Serve one connection until it ends."""
        node, request = call.caller, call.body
        assert isinstance(node, NodeCaller), "the route requires it"
        assert isinstance(request, web.BaseRequest), "the handler of a socket gets the request"
        if self._sockets[node.name] >= MAX_SOCKETS:
            raise session_issues.TOO_MANY_SOCKETS.error(node=node.name, limit=MAX_SOCKETS)
        socket = SessionSocket(
            autoping=False,
            compress=False,
            max_msg_size=session.MAX_FRAME_BYTES,
            timeout=5.0,
            # Sending never waits: `Connection` does not write while the node does not read.
            writer_limit=sys.maxsize,
        )
        if not socket.can_prepare(request):
            raise session_issues.NOT_A_WEBSOCKET.error()
        self._sockets[node.name] += 1
        try:
            await socket.prepare(request)
            _limit_read_ahead(request)
            await self._converse(socket, node, request)
        except (PrecastError, ConnectionError) as error:
            log.warning("the session of %s ends: %s", node.name, error)
            await socket.close(code=session.CLOSE_UNSTORED, message=b"the server could not store something; reconnect")
        finally:
            self._sockets[node.name] -= 1
            if not self._sockets[node.name]:
                del self._sockets[node.name]
        return socket

    async def _converse(self, socket: SessionSocket, node: NodeCaller, request: web.BaseRequest) -> None:
        hello = await _expect_hello(socket)
        if hello is None:
            await socket.close(code=session.CLOSE_PROTOCOL, message=b"a session begins with hello")
            return
        connection = await self._open_session(socket, node, request, hello)
        if connection is None:
            return
        try:
            await connection.push()
            await self._receive_frames(socket, connection)
        finally:
            self._futures.forget(connection)
            try:
                await connection.detach()
            finally:
                await self._unregister(connection)

    async def _open_session(
        self, socket: SessionSocket, node: NodeCaller, request: web.BaseRequest, hello: Hello
    ) -> Connection | None:
        address = request.remote or ""
        start = SessionStart(
            node.name,
            self.server_id,
            hello.instance,
            hello.attempts,
            hello.machine_id,
            address,
            hello.boot_id,
            hello.agent,
        )
        self._beginning[node.name] += 1
        try:
            accepted = await self._service.begin(start, hello)
            connection = Connection(
                socket,
                node,
                hello.instance,
                accepted,
                hello.received,
                self._records,
                self._orders,
                self._kinds,
                self._shared,
                request.protocol,
            )
            if not self._register(connection):
                await connection.close(session.CLOSE_FENCED, "the node has reconnected")
                return None
        except PrecastError as error:
            shown = conceal(error)
            if shown is not error:
                log.warning("the session of %s cannot begin: %s", node.name, error)
            # A machine that an operator chooses continues soon.
            is_soon = shown.consequence.retry or session_issues.HELD_NODE.matches(shown)
            retry_s = 5.0 if is_soon else 300.0
            refused = Refused(shown.code, shown.message, shown.hint, retry_s)
            await socket.send_bytes(session.encode(refused))
            await socket.close(code=session.CLOSE_REFUSED, message=shown.code.encode())
            return None
        finally:
            self._beginning[node.name] -= 1
            if not self._beginning[node.name]:
                del self._beginning[node.name]
        settings = self._settings
        await connection.send(
            Welcome(
                version=accepted.version,
                epoch=accepted.epoch,
                server=self.server_name,
                received=accepted.position.received,
                heartbeat_s=settings.heartbeat_s,
                # Spread by the epoch, so that nodes that connected together do not reconnect together.
                cycle_s=settings.cycle_s * (0.9 + 0.2 * (accepted.epoch * 0.618034 % 1)),
                horizon_s=settings.horizon_s,
                spread_s=max(LEAST_SPREAD_S, self.expected_reconnects / RETURNS_PER_S),
                facts_digest=accepted.facts_digest,
                catalog_digest=accepted.served.digest,
                policy=accepted.served.policy,
                window_bytes=WINDOW_BYTES,
                term=accepted.term,
            )
        )
        return connection

    def list_epochs(self) -> dict[str, int]:
        """The epochs of the open sessions, by node."""
        return {name: connection.epoch for name, connection in self.connections.items()}

    def is_beginning(self, node: str) -> bool:
        """Whether a session of the node is being begun: it may be registered already, and not be open yet."""
        return node in self._beginning

    def close_stale(self, stale: Mapping[str, int], stored: Mapping[str, int]) -> None:
        """Close those sessions, by node and epoch, that are not this server's, according to the epochs that are stored."""
        for name, epoch in stale.items():
            connection = self.connections.get(name)
            if connection is None or connection.epoch != epoch:
                continue
            if stored[name] > epoch:
                connection.end(session.CLOSE_FENCED, "the node has reconnected")
            else:
                connection.end(session.CLOSE_UNSTORED, "the database was restored to an earlier state")

    def _register(self, connection: Connection) -> bool:
        """Register the connection in place of an older one of the node; False if this one is the older.

        It does not wait for the older one to be closed, which a lost connection delays: a connection that is registered gets orders, and
        must have been welcomed by then.
        """
        older = self.connections.get(connection.node.name)
        if older is not None and older.epoch > connection.epoch:
            return False
        self.connections[connection.node.name] = connection
        if older is not None:
            older.end(session.CLOSE_FENCED, "the node has reconnected")
        return True

    async def _unregister(self, connection: Connection) -> None:
        if self.connections.get(connection.node.name) is connection:
            del self.connections[connection.node.name]
        if not self.is_draining:  # `drain` ends all sessions in one statement
            try:
                await self._sessions.end(self.server_id, [(connection.node.name, connection.epoch)])
            except PrecastError as error:
                # The session ends anyway: when the node reconnects, or when another server finds our lease expired.
                log.warning("the end of the session of %s could not be stored: %s", connection.node.name, error)

    async def _receive_frames(self, socket: SessionSocket, connection: Connection) -> None:
        """Receive the frames that the connection has not accepted directly, until the connection ends."""
        socket.queue.consumer = connection.accept
        try:
            while True:
                socket.queue.open()
                frame = await socket.receive()
                connection.last_heard_s = time.monotonic()
                if frame.type is WSMsgType.PING:
                    await connection.pace()
                    if not connection.is_write_paused:  # the node does not read
                        await socket.pong(frame.data)
                elif frame.type in (WSMsgType.BINARY, WSMsgType.TEXT):
                    if not await self._handle_message(connection, frame.data):
                        await connection.close(session.CLOSE_PROTOCOL, "invalid message")
                        return
                elif frame.type is WSMsgType.PONG:
                    await connection.pace()
                else:
                    return
        finally:
            socket.queue.consumer = None

    async def _handle_message(self, connection: Connection, data: bytes | str) -> bool:
        """Handle a message; False if it is invalid."""
        try:
            message = session.decode_from_node(data)
        except (ValueError, RecursionError):
            return False
        if isinstance(message, Record):
            await connection.receive(message)
        elif isinstance(message, Ack):
            await connection.pace()
            await connection.confirm(message.through)
        elif isinstance(message, Resend):
            await connection.pace(WINDOW)  # the whole window may be read from the database and sent again
            await connection.resend(message.after)
        elif isinstance(message, Subscribe):
            await connection.pace(WINDOW)  # all keys of a catalog may be read from the database
            await self._futures.subscribe(connection, message)
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


def _limit_read_ahead(request: web.BaseRequest) -> None:
    """Limit the read buffer of TLS, which is 256 KB by default: a whole fleet may fill it at once."""
    limit = getattr(request.transport, "set_read_buffer_limits", None)
    if limit is not None:
        limit(high=READ_AHEAD_BYTES)
