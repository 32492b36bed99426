"""A made-up server for one agent: it sends orders, grants every claim, and sends each record again until it is acknowledged."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from websockets.exceptions import ConnectionClosed

from lab.scripted_server import DEADLINE_S, AgentConnection, ScriptedServer
from precast.wire import sessions as session
from precast.wire.jobs.orders import CLAIM, GRANT, Claim, Grant
from precast.wire.sessions import Ack, Hello, Record, Welcome

T = TypeVar("T", bound=msgspec.Struct)


class OrderingServer:
    """The stream of records to the agent, and the records that the agent has sent."""

    def __init__(self) -> None:
        self.taken: list[Record] = []
        self.grants: list[Grant] = []
        self._posted: list[Record] = []
        self._line: AgentConnection | None = None
        self._serving: asyncio.Task[None] | None = None

    async def post(self, kind: str, body: msgspec.Struct) -> None:
        """Send a record, now or when the agent is connected."""
        raw = msgspec.Raw(msgspec.json.encode(body))
        self._posted.append(Record(len(self._posted) + 1, kind, datetime.now(UTC), raw))
        if self._line is not None:
            with contextlib.suppress(ConnectionClosed):
                await self._line.send_message(self._posted[-1])

    def sent(self, kind: str, message: type[T]) -> list[T]:
        """The bodies of the records of a kind that the agent has sent."""
        return [msgspec.json.decode(record.body, type=message) for record in self.taken if record.kind == kind]

    async def until(self, is_so: Callable[[], Any]) -> None:
        """Wait until the agent has sent what a condition asks for."""
        async with asyncio.timeout(3 * DEADLINE_S):
            while not is_so():
                assert self._serving is not None
                assert not self._serving.done(), self._serving.exception()
                await asyncio.sleep(0.05)

    @contextlib.asynccontextmanager
    async def serving(self, server: ScriptedServer) -> AsyncIterator[None]:
        """Accept the connections of the agent, one after the other, inside the block."""
        self._serving = asyncio.create_task(self._serve(server))
        try:
            yield
        finally:
            self._serving.cancel()
            await asyncio.wait([self._serving])

    async def _serve(self, server: ScriptedServer) -> None:
        while True:
            line = await server.accept()
            with contextlib.suppress(ConnectionClosed):
                await self._listen(line)
            self._line = None

    async def _listen(self, line: AgentConnection) -> None:
        hello = await line.expect(Hello)
        through = self.taken[-1].number if self.taken else 0
        await line.send_message(Welcome(1, hello.epoch + 1, "scripted", through, 60.0, 3600.0, 3600.0))
        self._line = line
        for record in self._posted[hello.received :]:
            await line.send_message(record)
        while True:
            frame = session.decode_from_node(await line.socket.recv())
            if isinstance(frame, Record) and frame.number > through:
                through = frame.number
                self.taken.append(frame)
                if frame.kind == CLAIM:
                    claim = msgspec.json.decode(frame.body, type=Claim)
                    self.grants.append(Grant(claim.order, claim.number, claim.instance, is_granted=True))
                    await self.post(GRANT, self.grants[-1])
                await line.send_message(Ack(frame.number))
