"""Root's side of the network process of a session: starts it, and is the session's socket.

There is one process for each connection, so a new certificate, a changed resolver or a process that was taken over lasts for one
connection at most. Every message of it is checked; one that is invalid ends the process and the connection.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Mapping, Sequence

import msgspec

from precast.agent import issues
from precast.agent.connection.backoff import EndReason
from precast.agent.connection.session_messages import (
    FROM_NETWORK,
    Close,
    Ended,
    Frame,
    FromNetwork,
    Open,
    Opened,
    Ping,
    Pong,
)
from precast.agent.connection.session_socket import ConnectionEnded
from precast.agent.network.frames import encode_frame, read_frame
from precast.agent.network.messages import Started
from precast.agent.state.status_notes import NetworkNote
from precast.base.errors import PrecastError
from precast.base.programs import signal_group
from precast.base.spans import visible

CLOSE_S = 4.0
_REASONS = {reason.value: reason for reason in EndReason}


class SessionProcess:
    """A network process with its connection, once `open` has returned."""

    def __init__(self, process: asyncio.subprocess.Process, streams: "Streams") -> None:
        self._process = process
        self._reader, self._writer = streams
        self._pong = asyncio.Event()

    async def start(self, url: str) -> NetworkNote:
        """Wait until the process has dropped its privileges, and let it connect. Raises ConnectionEnded."""
        started = await self._receive()
        if not isinstance(started, Started):
            raise _refused("a message that is out of place")
        await self._tell(Open(url))
        if not isinstance(await self._receive(), Opened):
            raise _refused("a message that is out of place")
        return NetworkNote(started.uid, started.lacks)

    async def send(self, data: bytes) -> None:
        await self._tell(Frame(data))

    async def recv(self) -> bytes:
        while True:
            message = await self._receive()
            if isinstance(message, Frame):
                return message.data
            if not isinstance(message, Pong):
                raise _refused("a message that is out of place")
            self._pong.set()

    async def ping(self) -> None:
        self._pong.clear()
        await self._tell(Ping())
        await self._pong.wait()

    async def close(self) -> None:
        """Let the process close the connection, and end it after `CLOSE_S`."""
        with contextlib.suppress(ConnectionEnded, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._tell(Close())
                await self._process.wait()
        await self.end()

    async def end(self) -> None:
        """Kill the process, and wait until it has ended."""
        self.abort()
        await asyncio.shield(self._process.wait())

    def abort(self) -> None:
        self._writer.close()
        if self._process.returncode is None:
            signal_group(self._process.pid, signal.SIGKILL)

    async def _tell(self, message: msgspec.Struct) -> None:
        try:
            self._writer.write(encode_frame(message))
            await self._writer.drain()
        except OSError as error:
            raise ConnectionEnded(EndReason.FAILED, f"the network process has ended: {error.strerror}") from None

    async def _receive(self) -> FromNetwork:
        """The next message. Raises ConnectionEnded if the connection or the process has ended, or for an invalid message."""
        try:
            message = await read_frame(self._reader, FROM_NETWORK)
        except (EOFError, OSError):
            raise ConnectionEnded(EndReason.FAILED, "the network process has ended") from None
        except PrecastError as error:
            raise ConnectionEnded(EndReason.LOCAL, f"{error.message} [{error.code}]") from None
        if isinstance(message, Ended):
            reason = _REASONS.get(message.reason, EndReason.FAILED)
            raise ConnectionEnded(reason, visible(message.why), message.retry_range_s)
        return message


class ProcessConnector:
    """Opens connections through network processes."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        is_enrolled: Callable[[], bool],
        on_started: Callable[[NetworkNote], None],
    ) -> None:
        self._argv = argv
        self._environment = environment
        self._is_enrolled = is_enrolled
        self._on_started = on_started

    async def open(self, url: str) -> SessionProcess:
        """Open a websocket for a session with a server. Raises ConnectionEnded. Cancelling closes it."""
        if not self._is_enrolled():
            error = issues.NOT_ENROLLED.error()
            raise ConnectionEnded(EndReason.NOT_ENROLLED, f"{error.message} [{error.code}]; {error.hint}")
        connection = await self._spawn()
        try:
            self._on_started(await connection.start(url))
        except BaseException:
            await connection.end()
            raise
        return connection

    async def _spawn(self) -> SessionProcess:
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(ours.close)
            with theirs:
                try:
                    process = await asyncio.create_subprocess_exec(
                        *self._argv,
                        stdin=theirs.fileno(),
                        stdout=asyncio.subprocess.DEVNULL,
                        env=dict(self._environment),
                        start_new_session=True,
                    )
                except OSError as error:
                    why = f"the network process cannot be started: {error.strerror}"
                    raise ConnectionEnded(EndReason.LOCAL, why) from None
            streams = await asyncio.open_connection(sock=ours)
            on_failure.pop_all()
        return SessionProcess(process, streams)


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def _refused(reason: str) -> ConnectionEnded:
    error = issues.NETWORK_REFUSED.error(reason=reason)
    return ConnectionEnded(EndReason.LOCAL, f"{error.message} [{error.code}]")
