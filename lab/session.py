"""A scripted node: a session whose messages a test or a bench sends itself."""

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
    """The node's end of one connection. `store` is the state that a real agent would have on its disk."""

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

    async def send_message(self, message: Message) -> None:
        await self.socket.send(session.encode(message))

    async def receive(self) -> FromServer:
        return session.decode_from_server(await self.socket.recv())

    async def expect(self, kind: type[T]) -> T:
        message = await self.receive()
        assert isinstance(message, kind), message
        return message

    async def greet(self) -> Welcome:
        """Send hello and return the welcome."""
        self.store.attempts.insert(0, uuid.uuid4().hex)
        await self.send_message(self.store.hello())
        welcome = await self.expect(Welcome)
        self.store.epoch = welcome.epoch
        del self.store.attempts[1:]
        return welcome

    async def send(self, kind: str, body: object) -> int:
        """Send the next record and return its number."""
        self.store.last += 1
        record = Record(self.store.last, kind, datetime.now(UTC), msgspec.Raw(msgspec.json.encode(body)))
        self.store.records.append(record)
        await self.send_message(record)
        return self.store.last

    async def acknowledged(self, number: int) -> None:
        while (await self.expect(Ack)).through < number:
            pass

    async def closed(self) -> int | None:
        """Wait until the server closes the connection, and return the close code. Messages before that are ignored."""
        try:
            while True:
                await self.socket.recv()
        except ConnectionClosed as end:
            return end.rcvd.code if end.rcvd is not None else None


class Store:
    """The state of a node between its connections."""

    def __init__(self) -> None:
        self.instance = uuid.uuid4().hex
        self.attempts: list[str] = []
        self.records: list[Record] = []
        self.epoch = 0
        self.last = 0
        self.received = 0
        self.machine_id = ""
        self.boot_id = "boot"

    def hello(self) -> Hello:
        return Hello(
            versions=list(session.VERSIONS),
            instance=self.instance,
            attempts=self.attempts[: session.MAX_ATTEMPTS],
            boot_id=self.boot_id,
            agent="lab",
            epoch=self.epoch,
            last=self.last,
            received=self.received,
            machine_id=self.machine_id,
        )

    def copy(self) -> "Store":
        """Copy the state, as a disk image would."""
        copy = Store()
        copy.instance, copy.epoch, copy.last, copy.received = self.instance, self.epoch, self.last, self.received
        copy.attempts, copy.records = list(self.attempts), list(self.records)
        copy.machine_id, copy.boot_id = self.machine_id, self.boot_id
        return copy
