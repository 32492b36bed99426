"""A scripted server of sessions, over real TLS: a test accepts an agent's connection and sends the messages of the server itself."""

import asyncio
import base64
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.asyncio.server import Server, ServerConnection, serve

from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.cached_policy import policy_path
from precast.agent.catalog.cached_release import release_path
from precast.agent.identity.credentials import Credentials
from precast.base import digests
from precast.base.files import write_private
from precast.services.identity.authority import Authority
from precast.services.identity.certificates import CURVE, certificate_pem, private_pem
from precast.wire import sessions as session
from precast.wire.catalogs.release_pointer import ReleasePointer, SignedRelease, release_text, signed_release_bytes
from precast.wire.jobs.orders import ExecOrder, SignedExecOrder, SignedTaskOrder, TaskOrder
from precast.wire.jobs.signed_orders import order_text, signed_order_bytes, signed_task_bytes, task_text
from precast.wire.nodes.policy import Enforce, Policy, SignedPolicy, policy_text, signed_bytes
from precast.wire.sessions import Ack, FromNode, Hello, Message, Record, Welcome

T = TypeVar("T", bound=Message)

DEADLINE_S = 30.0
# How long the end waits for connections that are in the middle of their handshake.
LEAVE_S = 5.0
ACCEPTING_TURNS = 3


class AgentConnection:
    """The server's end of one connection that an agent has opened."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket

    async def receive(self) -> FromNode:
        async with asyncio.timeout(DEADLINE_S):
            return session.decode_from_node(await self.socket.recv())

    async def expect(self, kind: type[T]) -> T:
        message = await self.receive()
        assert isinstance(message, kind), message
        return message

    async def send_message(self, message: Message) -> None:
        await self.socket.send(session.encode(message))

    async def greet(
        self,
        received: int | None = None,
        *,
        facts_digest: str = "",
        heartbeat_s: float = 60.0,
        cycle_s: float = 3600.0,
        window_bytes: int = 1024 * 1024,
        term: int = 0,
    ) -> Hello:
        """Receive hello and welcome the agent. Returns the hello. Without `received`, the server has all records of the agent."""
        hello = await self.expect(Hello)
        through = hello.last if received is None else received
        welcome = Welcome(1, hello.epoch + 1, "scripted", through, heartbeat_s, cycle_s, 3600.0, facts_digest)
        await self.send_message(msgspec.structs.replace(welcome, window_bytes=window_bytes, term=term))
        return hello

    async def take(self) -> Record:
        """Receive the next record and acknowledge it."""
        record = await self.expect(Record)
        await self.send_message(Ack(record.number))
        return record

    async def order(self, number: int, kind: str, why: str = "") -> None:
        body = msgspec.json.encode({"why": why})
        await self.send_message(Record(number, kind, datetime.now(UTC), msgspec.Raw(body)))

    async def ended(self) -> int | None:
        """Wait until the agent has closed the connection, and return the close code."""
        async with asyncio.timeout(DEADLINE_S):
            await self.socket.wait_closed()
        return self.socket.close_code


class ScriptedServer:
    """A server on a port of the loopback interface, with an authority of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = Authority.new(datetime.now(UTC))
        self._lines: asyncio.Queue[AgentConnection] = asyncio.Queue()
        self._server: Server | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        self.directory.mkdir(exist_ok=True)
        key = ec.generate_private_key(CURVE)
        certificate = self.authority.sign_server(key.public_key(), ["127.0.0.1"], datetime.now(UTC))
        write_private(self.directory / "key.pem", private_pem(key))
        write_private(self.directory / "certificate.pem", certificate_pem(certificate).encode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.directory / "certificate.pem", self.directory / "key.pem")
        context.load_verify_locations(cadata=self.authority.pem)
        context.verify_mode = ssl.CERT_REQUIRED
        self._server = await serve(
            self._serve, "127.0.0.1", self.port, ssl=context, compression=None, ping_interval=None, close_timeout=1
        )
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            # An agent may be about to connect. No further connection is accepted; one that was accepted is known to the server some
            # turns of the loop later, and would be lost if the server was closed before.
            for listener in self._server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
            # Started before the close, because afterwards it would return at once.
            all_closed = asyncio.create_task(self._server.server.wait_closed())
            for _ in range(ACCEPTING_TURNS):
                await asyncio.sleep(0)
            self._server.close(close_connections=True)
            await self._server.wait_closed()
            self._server = None
            await asyncio.wait([all_closed], timeout=LEAVE_S)
            all_closed.cancel()

    async def accept(self) -> AgentConnection:
        """Wait for the next connection of an agent."""
        async with asyncio.timeout(DEADLINE_S):
            return await self._lines.get()

    def enrol(self, root: Path, name: str, *, ended: bool = False) -> Credentials:
        """Enrol a machine below a root; with a certificate that has expired if `ended`."""
        credentials = Credentials(root)
        credentials.directory.mkdir(mode=0o700, parents=True)
        key = ec.generate_private_key(CURVE)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
        now = datetime.now(UTC) - (timedelta(days=1000) if ended else timedelta(0))
        certificate = self.authority.sign_node(request, now, {})
        write_private(credentials.key, private_pem(key))
        write_private(credentials.certificate, certificate_pem(certificate).encode())
        write_private(credentials.authority, self.authority.pem.encode())
        return credentials

    def release(self, root: Path, catalog: bytes, name: str, sequence: int = 1, **changes: Any) -> SignedRelease:
        """Cache a catalog on an enrolled machine as if this server had released it; returns its signed pointer."""
        given = ReleasePointer(
            name, digests.of_bytes(catalog), sequence, sequence, "production", "v1", datetime.now(UTC)
        )
        text = release_text(msgspec.structs.replace(given, **changes))
        signed = SignedRelease(text, self._sign(signed_release_bytes(text)))
        write_private(catalog_path(root), catalog)
        write_private(release_path(root), msgspec.json.encode(signed))
        return signed

    def sign_exec(self, order: ExecOrder) -> SignedExecOrder:
        """An ordered command as this server would send it."""
        text = order_text(order)
        signature = self._sign(signed_order_bytes(text))
        return SignedExecOrder(order.order, order.expires_at, order.timeout_s, text, signature, order.why)

    def sign_task(self, order: TaskOrder, *, is_signed: bool = True) -> SignedTaskOrder:
        """An ordered task as this server would send it."""
        text = task_text(order)
        signature = self._sign(signed_task_bytes(text)) if is_signed else ""
        return SignedTaskOrder(order.order, order.expires_at, order.timeout_s, text, signature, order.why)

    def permit(self, root: Path, name: str, enforce: Enforce = "always") -> None:
        """Cache a policy on an enrolled machine as if this server had sent it."""
        now = datetime.now(UTC)
        text = policy_text(Policy(name, 1, enforce, [], now, now + timedelta(days=30)))
        signed = SignedPolicy(text, self._sign(signed_bytes(text)))
        write_private(policy_path(root), msgspec.json.encode(signed))

    def _sign(self, data: bytes) -> str:
        return base64.b64encode(self.authority.sign_document(data)).decode()

    async def _serve(self, socket: ServerConnection) -> None:
        self._lines.put_nowait(AgentConnection(socket))
        await socket.wait_closed()
