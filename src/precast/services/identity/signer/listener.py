"""The signer's socket: who may connect, and how much they may send.

The kernel names the user of each peer; others than the configured users are refused. Each user may have a number of connections, each
connection a number of unanswered requests, each message a length and a time. So a hostile peer slows down only itself. Requests of all
connections are answered in batches by one task.
"""

import asyncio
import contextlib
import logging
import socket
import stat
import struct
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.base.frames import BadFrame
from precast.services.identity import issues
from precast.services.identity.signer.approval import Peer
from precast.services.identity.signer.frames import MAX_REQUEST_BYTES, encode_frame, read_frame
from precast.services.identity.signer.messages import Answer, Failure, Request
from precast.services.identity.signer.signer import Outcome, Signer

log = logging.getLogger("precast.signer")

_decoder = msgspec.msgpack.Decoder(Request)

MAX_CONNECTIONS = 80  # of one user: more than the most workers of a server
MAX_UNANSWERED = 256  # of one connection; further requests are not read until then
MAX_BATCH = 256
MAX_UNREAD_BYTES = 4 * 1024**2  # answers that a peer does not read; then it is disconnected
READ_S = 10.0
# A request that has waited this long is not handled: nobody waits for its answer.
STALE_S = 15.0
_CREDENTIALS = struct.Struct("3i")


class _Waiting(NamedTuple):
    request: Request
    peer: Peer
    connection: "_Connection"
    since_s: float


class _Connection:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.unanswered = asyncio.Semaphore(MAX_UNANSWERED)


class Listener:
    """Serves one signer on one socket."""

    def __init__(self, signer: Signer, clock: Clock, clients: frozenset[int], approvers: frozenset[int]) -> None:
        """`clients` are the users that may connect; those in `approvers` count as local commands."""
        self._signer, self._clock = signer, clock
        self._clients, self._approvers = clients | approvers, approvers
        self._connections: Counter[int] = Counter()
        self._waiting: asyncio.Queue[_Waiting] = (
            asyncio.Queue()
        )  # bounded by the connections and their unanswered requests
        self._last_warning_s = float("-inf")

    async def run(self, listening: socket.socket) -> None:
        """Serve until cancelled. Cancelling closes all connections; requests that are not answered are repeated by their senders."""
        async with await self.listen(listening):
            await self.answer_all()

    async def listen(self, listening: socket.socket) -> asyncio.Server:
        """Begin to accept connections; `answer_all` answers them."""
        return await asyncio.start_unix_server(self._serve, sock=listening)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        uid = _peer_uid(writer)
        try:
            if uid not in self._clients:
                self._warn("user %s may not connect", uid)
            elif self._connections[uid] >= MAX_CONNECTIONS:
                self._warn("user %s has too many connections", uid)
            else:
                self._connections[uid] += 1
                try:
                    await self._read_requests(reader, _Connection(writer), Peer(uid, uid in self._approvers))
                finally:
                    self._connections[uid] -= 1
        except (OSError, BadFrame, msgspec.MsgspecError) as error:
            self._warn("user %s is disconnected: %s", uid, error)
        except asyncio.CancelledError:
            pass  # the signer ends: asyncio would log a cancelled connection as an error
        finally:
            writer.transport.abort()

    async def _read_requests(self, reader: asyncio.StreamReader, connection: _Connection, peer: Peer) -> None:
        while (data := await read_frame(reader, MAX_REQUEST_BYTES, READ_S)) is not None:
            request = _decoder.decode(data)
            await connection.unanswered.acquire()
            self._waiting.put_nowait(_Waiting(request, peer, connection, self._clock.monotonic_s()))

    async def answer_all(self) -> None:
        """Answer requests, for ever."""
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < MAX_BATCH and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            oldest_s = self._clock.monotonic_s() - STALE_S
            fresh = [one for one in batch if one.since_s > oldest_s and not one.connection.writer.is_closing()]
            outcomes = self._signer.handle([(one.request.verb, one.peer) for one in fresh])
            for one, outcome in zip(fresh, outcomes, strict=True):
                _send(one, outcome)
            for one in batch:
                one.connection.unanswered.release()
            await asyncio.sleep(0)  # lets connections be read even if the queue is never empty

    def _warn(self, text: str, *values: object) -> None:
        """Log a warning, at most one a second: a peer must not fill the log."""
        now_s = self._clock.monotonic_s()
        if now_s - self._last_warning_s >= 1:
            self._last_warning_s = now_s
            log.warning(text, *values)


def _send(waiting: _Waiting, outcome: Outcome) -> None:
    number = waiting.request.number
    if isinstance(outcome, PrecastError):
        failure = Failure(outcome.kind.value, outcome.code, outcome.message, outcome.hint)
        answer = Answer(number, failure=failure)
    else:
        answer = Answer(number, msgspec.msgpack.encode(outcome))
    writer = waiting.connection.writer
    writer.write(encode_frame(answer))
    if writer.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
        writer.transport.abort()


def _peer_uid(writer: asyncio.StreamWriter) -> int:
    peer = writer.get_extra_info("socket")
    _, uid, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return int(uid)


def bind(path: Path) -> socket.socket:
    """Listen on a Unix socket; the file of a signer that has ended is replaced.

    Raises UnavailableError CA-034 if another signer listens there, or the path cannot be used.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_dead(path)
        listening.bind(str(path))
        # Everyone may connect: the kernel tells who does, which the mode of a file could not.
        path.chmod(0o666)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise issues.NO_SOCKET.error(path=path, reason=error.strerror or error) from error
    return listening


def _remove_dead(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(0, "it is not a socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(5)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
                return
        raise OSError(0, "another signer listens there")
