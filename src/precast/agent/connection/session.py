"""A session with a server: hello and welcome, then the exchange of records until the connection ends.

The local store is the truth: what a connection holds in memory can be lost at any time. An attempt is in the store before a server
sees it. Every wait has a deadline. The deadline for opening is generous on purpose: after a server has restarted, thousands of agents
come back at once, and agents that give up early only cause more attempts.
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from precast import __version__
from precast.agent.connection.backoff import EndReason
from precast.agent.connection.record_exchange import RecordExchange, SessionListener
from precast.agent.connection.session_socket import ConnectionEnded, Connector, SessionSocket
from precast.agent.futures.subscriptions import Subscriptions
from precast.agent.identity.machine import MachineIdentity
from precast.agent.orders.registry import OrderRegistry
from precast.agent.state.spool import Spool
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError
from precast.wire import sessions as session
from precast.wire.sessions import FromServer, Hello, Refused, Welcome

OPEN_S = 60.0
# A server with an older database than another: the next attempt may reach that other one.
OLD_TERM_S = (5.0, 10.0)


class SessionEnd(NamedTuple):
    """How a session ended."""

    reason: EndReason
    why: str
    retry_range_s: tuple[float, float] = (0.0, 0.0)  # when to reconnect, if the server said so
    lived_s: float = 0.0  # since the welcome


class Session:
    """The state that all connections of an agent share. One connection is open at a time."""

    def __init__(
        self,
        store: LocalStore,
        spool: Spool,
        orders: OrderRegistry,
        listener: SessionListener,
        new_id: Callable[[], str],
        machine: MachineIdentity,
        least_horizon_s: float = 0.0,
        open_s: float = OPEN_S,
        subscriptions: Subscriptions | None = None,
    ) -> None:
        self._store = store
        self._spool = spool
        self._orders = orders
        self._listener = listener
        self._new_id = new_id
        self._machine = machine
        self.least_horizon_s = least_horizon_s
        self._open_s = open_s
        self._subscriptions = subscriptions or Subscriptions(store)
        self.has_records = asyncio.Event()
        self.must_leave = asyncio.Event()

    async def run(self, url: str, connector: Connector) -> SessionEnd:
        """Connect, and stay connected until the session ends. Never raises for failures of the network, the server or the store.

        Cancelling closes the connection; nothing is lost by it.
        """
        self.must_leave.clear()
        welcomed_s: float | None = None
        try:
            async with asyncio.timeout(self._open_s):
                socket = await connector.open(url)
                welcome, attempt = await self._greet(socket)
            welcomed_s = time.monotonic()
            try:
                begin = self._begin(url, welcome, attempt)
            except BaseException:
                socket.abort()
                raise
            self._subscriptions.begin_session()
            parts = (self._store, self._spool, self._orders, self._listener)
            exchange = RecordExchange(socket, *parts, begin, self._subscriptions)
            await exchange.run(welcome, self.has_records, self.must_leave)
        except ConnectionEnded as ended:
            end = SessionEnd(ended.reason, ended.why, ended.retry_range_s)
        except TimeoutError:
            end = SessionEnd(EndReason.FAILED, f"the server did not answer within {self._open_s:g} s")
        except PrecastError as error:
            end = SessionEnd(EndReason.LOCAL, f"{error.message} [{error.code}]")
        return end._replace(lived_s=0.0 if welcomed_s is None else time.monotonic() - welcomed_s)

    def _begin(self, url: str, welcome: Welcome, attempt: str) -> int:
        """Store what the server said in its welcome. Returns the number after which the records of this node are sent."""
        horizon_s = max(welcome.horizon_s, self.least_horizon_s)
        begin = self._spool.begin_session(
            attempt, welcome.epoch, welcome.received, horizon_s, welcome.facts_digest, welcome.term
        )
        self._orders.claims.requeue()
        self._listener.on_welcome(url, welcome)
        return begin

    async def _greet(self, socket: SessionSocket) -> tuple[Welcome, str]:
        """Send hello. Returns the welcome and the id of this attempt. Raises ConnectionEnded."""
        try:
            attempts = self._store.add_attempt(self._new_id())
            answer = await _send_hello(socket, self._hello(attempts))
        except BaseException:
            socket.abort()
            raise
        if isinstance(answer, Welcome):
            if answer.term >= (seen := self._store.session_state().term):
                return answer, attempts[0]
            await socket.close()
            why = f"the server has a database that was left behind: its term is {answer.term}, and this node has seen {seen}"
            raise ConnectionEnded(EndReason.REFUSED, why, OLD_TERM_S)
        await socket.close()
        if isinstance(answer, Refused):
            if answer.code == session.OVERTAKEN:
                self._store.drop_attempt(attempts[0])
            why = f"{answer.message} [{answer.code}]" + (f"; {answer.hint}" if answer.hint else "")
            raise ConnectionEnded(EndReason.REFUSED, why, (answer.retry_s, 1.5 * answer.retry_s))
        raise ConnectionEnded(EndReason.FAILED, "the server did not answer hello with welcome")

    def _hello(self, attempts: list[str]) -> Hello:
        state = self._store.session_state()
        first, last = self._spool.number_range()
        return Hello(
            versions=list(session.VERSIONS),
            instance=state.instance,
            attempts=attempts,
            boot_id=self._machine.boot_id,
            agent=__version__,
            machine_id=self._machine.machine_id,
            term=state.term,
            epoch=state.epoch,
            first=first,
            last=last,
            received=state.received,
            received_at=state.received_at,
        )


async def _send_hello(socket: SessionSocket, hello: Hello) -> FromServer:
    """Send hello and return the server's answer. Raises ConnectionEnded."""
    try:
        await socket.send(session.encode(hello))
        return session.decode_from_server(await socket.recv())
    except (ValueError, RecursionError) as error:
        raise ConnectionEnded(EndReason.FAILED, "the server does not speak this protocol") from error
