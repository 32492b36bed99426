"""An agent's session with a server: hello and welcome, then records both ways until the connection ends.

The local store is the truth: what a connection knows can be lost at any moment. An attempt is in the store before a server hears of
it. Every wait has a deadline; the one for opening is generous on purpose, because after a restart of a server thousands come back
at once, and giving up only makes more of them.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import NamedTuple

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from precast import __version__
from precast.agent.connection.conversation import Conversation, Listener
from precast.agent.connection.opening import Over, closed, open_socket
from precast.agent.connection.pauses import Verdict
from precast.agent.state.spool import Spool
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError
from precast.wire import sessions as session
from precast.wire.sessions import FromServer, Hello, Refused, Welcome

OPEN_S = 60.0


class Ending(NamedTuple):
    """How a connection ended."""

    verdict: Verdict
    why: str
    told_s: tuple[float, float] = (0.0, 0.0)  # when to come again, if the server said so
    lived_s: float = 0.0  # since the welcome


class Session:
    """What all connections of an agent share. One is open at a time."""

    def __init__(
        self,
        store: LocalStore,
        spool: Spool,
        listener: Listener,
        new_id: Callable[[], str],
        boot_id: str,
        least_horizon_s: float = 0.0,
        open_s: float = OPEN_S,
    ) -> None:
        self._store = store
        self._spool = spool
        self._listener = listener
        self._new_id = new_id
        self._boot_id = boot_id
        self.least_horizon_s = least_horizon_s
        self._open_s = open_s
        self.has_records = asyncio.Event()
        self.must_leave = asyncio.Event()

    async def run(self, url: str, context: ssl.SSLContext) -> Ending:
        """Connect, and stay until it ends. Never raises for what a network, a server or the store does.

        Cancelling closes the connection; nothing is lost by it.
        """
        self.must_leave.clear()
        welcomed_s: float | None = None
        try:
            async with asyncio.timeout(self._open_s):
                socket = await open_socket(url, context)
                welcome, attempt = await self._greet(socket)
            welcomed_s = time.monotonic()
            try:
                begin = self._welcomed(url, welcome, attempt)
            except BaseException:
                socket.transport.abort()
                raise
            conversation = Conversation(socket, self._store, self._spool, self._listener, begin)
            await conversation.run(welcome, self.has_records, self.must_leave)
        except Over as over:
            ending = Ending(over.verdict, over.why, over.told_s)
        except TimeoutError:
            ending = Ending(Verdict.FAILED, f"it did not answer within {self._open_s:g} s")
        except PrecastError as error:
            ending = Ending(Verdict.LOCAL, f"{error.message} [{error.code}]")
        return ending._replace(lived_s=0.0 if welcomed_s is None else time.monotonic() - welcomed_s)

    def _welcomed(self, url: str, welcome: Welcome, attempt: str) -> int:
        horizon_s = max(welcome.horizon_s, self.least_horizon_s)
        begin = self._spool.welcomed(attempt, welcome.epoch, welcome.received, horizon_s, welcome.facts_digest)
        self._listener.on_welcome(url, welcome)
        return begin

    async def _greet(self, socket: ClientConnection) -> tuple[Welcome, str]:
        """Say hello and be welcomed. Raises Over."""
        try:
            attempts = self._store.attempt(self._new_id())
            answer = await _exchange(socket, self._hello(attempts))
        except BaseException:
            socket.transport.abort()
            raise
        if isinstance(answer, Welcome):
            return answer, attempts[0]
        await socket.close()
        if isinstance(answer, Refused):
            why = f"{answer.message} [{answer.code}]" + (f"; {answer.hint}" if answer.hint else "")
            raise Over(Verdict.REFUSED, why, (answer.retry_s, 1.5 * answer.retry_s))
        raise Over(Verdict.FAILED, "it does not answer hello with welcome")

    def _hello(self, attempts: list[str]) -> Hello:
        standing = self._store.standing()
        first, last = self._spool.span()
        return Hello(
            versions=list(session.VERSIONS),
            instance=standing.instance,
            attempts=attempts,
            boot_id=self._boot_id,
            agent=__version__,
            epoch=standing.epoch,
            first=first,
            last=last,
            received=standing.received,
            received_at=standing.received_at,
        )


async def _exchange(socket: ClientConnection, hello: Hello) -> FromServer:
    try:
        await socket.send(session.encode(hello), text=True)
        return session.decode_from_server(await socket.recv(decode=False))
    except ConnectionClosed as end:
        raise closed(end) from end
    except (ValueError, RecursionError) as error:
        raise Over(Verdict.FAILED, "it does not speak our protocol") from error
