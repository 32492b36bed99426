"""A connection to the signer's socket: it reconnects by itself, and repeats requests that were not answered.

Every verb can be repeated: the same key gets a certificate without a further use of its token, and a step of a rotation that is done
already does nothing. So a signer that restarts costs a request some time, and nothing else.
"""

import asyncio
import contextlib
from pathlib import Path
from typing import TypeVar

import msgspec

from precast.base.errors import Kind, PrecastError
from precast.base.frames import BadFrame
from precast.services.identity import issues
from precast.services.identity.signer.frames import MAX_ANSWER_BYTES, encode_frame, read_frame
from precast.services.identity.signer.messages import Answer, AnyVerb, Request

T = TypeVar("T", bound=msgspec.Struct)

# A request fails after this time, with an error that says to try again.
DEADLINE_S = 10.0
PAUSE_S = 0.1
MAX_WAITING = 200  # requests at once; further ones wait here


class _Lost(Exception):
    """The connection ended before the answer."""


class _Stream:
    """One open connection: answers are matched to requests by number."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._number = 0
        self.reading = asyncio.create_task(self._read(reader))

    @property
    def is_open(self) -> bool:
        return not self.reading.done()

    async def ask(self, verb: AnyVerb) -> Answer:
        self._number += 1
        number = self._number
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        try:
            self._write(encode_frame(Request(number, verb)))
            return await future
        finally:
            self._answers.pop(number, None)

    def _write(self, frame: bytes) -> None:
        if self._writer.is_closing():  # uvloop would raise a RuntimeError for a write
            raise _Lost
        self._writer.write(frame)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        decoder = msgspec.msgpack.Decoder(Answer)
        try:
            while (data := await read_frame(reader, MAX_ANSWER_BYTES, DEADLINE_S)) is not None:
                answer = decoder.decode(data)
                future = self._answers.get(answer.number)
                if future is not None and not future.done():
                    future.set_result(answer)
        except (OSError, BadFrame, msgspec.MsgspecError):
            pass  # the requests below learn of it
        finally:
            self._writer.transport.abort()
            for future in self._answers.values():
                if not future.done():
                    future.set_exception(_Lost())

    async def close(self) -> None:
        self.reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.reading


class SocketConnection:
    """The connection of one process to the signer."""

    def __init__(self, path: Path, deadline_s: float = DEADLINE_S) -> None:
        self._path, self._deadline_s = path, deadline_s
        self._stream: _Stream | None = None
        self._connecting = asyncio.Lock()
        self._slots = asyncio.Semaphore(MAX_WAITING)

    async def ask(self, verb: AnyVerb, answer: type[T]) -> T:
        """Return the answer; the request is repeated on new connections until the deadline.

        Raises the signer's error, or UnavailableError CA-030. Cancelling leaves open whether the signer has handled the request.
        """
        reason = "it gave no answer in time"
        try:
            async with asyncio.timeout(self._deadline_s), self._slots:
                while True:
                    try:
                        received = await (await self._connected()).ask(verb)
                        break
                    except _Lost:
                        reason = "it ended the connection"
                    except OSError as error:
                        reason = error.strerror or "it cannot be reached"
                    await asyncio.sleep(PAUSE_S)
        except TimeoutError:
            raise issues.SIGNER_UNAVAILABLE.error(reason=reason) from None
        if (failure := received.failure) is not None:
            raise PrecastError.of_kind(Kind(failure.kind), failure.code, failure.message, failure.hint)
        return msgspec.msgpack.decode(received.result, type=answer)

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.close()

    async def _connected(self) -> _Stream:
        async with self._connecting:
            if self._stream is None or not self._stream.is_open:
                self._stream = _Stream(*await asyncio.open_unix_connection(str(self._path)))
            return self._stream
