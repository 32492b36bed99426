"""The protocol of sessions by hand: a node's connection that says exactly what a test or a bench wants it to say."""

import ssl
import uuid
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeVar

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from precast.wire import sessions as session
from precast.wire.sessions import Ack, FromServer, Hello, Message, Record, Welcome

T = TypeVar("T", bound=Message)

DEADLINE_S = 30.0


class Peer:
    """A node's side of one connection. `store` is what a real agent would keep on its disk."""

    def __init__(self, url: str, context: ssl.SSLContext, store: "Store") -> None:
        self._url = url.replace("https://", "wss://") + session.PATH
        self._context = context
        self.store = store
        self._socket: ClientConnection | None = None

    @property
    def socket(self) -> ClientConnection:
        assert self._socket is not None
        return self._socket

    async def __aenter__(self) -> Self:
        self._socket = await connect(
            self._url, ssl=self._context, compression=None, ping_interval=None, open_timeout=DEADLINE_S
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()

    async def say(self, message: Message) -> None:
        await self.socket.send(session.encode(message))

    async def hear(self) -> FromServer:
        return session.decode_from_server(await self.socket.recv())

    async def expect(self, kind: type[T]) -> T:
        came = await self.hear()
        assert isinstance(came, kind), came
        return came

    async def greet(self) -> Welcome:
        """Say hello and be welcomed."""
        self.store.attempts.insert(0, uuid.uuid4().hex)
        await self.say(self.store.hello())
        welcome = await self.expect(Welcome)
        self.store.epoch = welcome.epoch
        del self.store.attempts[1:]
        return welcome

    async def send(self, kind: str, body: object) -> int:
        """Send the next record; its number."""
        self.store.last += 1
        record = Record(self.store.last, kind, datetime.now(UTC), msgspec.Raw(msgspec.json.encode(body)))
        self.store.records.append(record)
        await self.say(record)
        return self.store.last

    async def acknowledged(self, number: int) -> None:
        while (await self.expect(Ack)).through < number:
            pass

    async def closed(self) -> int | None:
        """The code with which the server ends the connection; what it says before that is passed over."""
        try:
            while True:
                await self.socket.recv()
        except ConnectionClosed as end:
            return end.rcvd.code if end.rcvd is not None else None


class Store:
    """What a node keeps between its connections."""

    def __init__(self) -> None:
        self.instance = uuid.uuid4().hex
        self.attempts: list[str] = []
        self.records: list[Record] = []
        self.epoch = 0
        self.last = 0
        self.received = 0

    def hello(self) -> Hello:
        return Hello(
            versions=list(session.VERSIONS),
            instance=self.instance,
            attempts=self.attempts[: session.MAX_ATTEMPTS],
            boot_id="boot",
            agent="lab",
            epoch=self.epoch,
            last=self.last,
            received=self.received,
        )

    def copy(self) -> "Store":
        """As a disk image would copy it."""
        other = Store()
        other.instance, other.epoch, other.last, other.received = self.instance, self.epoch, self.last, self.received
        other.attempts, other.records = list(self.attempts), list(self.records)
        return other
