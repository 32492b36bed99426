"""A confined child process that answers one request after the other, as frames on its standard input and output.

The process is started by the first request, and again by the first one after it has ended.
"""

import asyncio
import contextlib
from collections.abc import Sequence

from precast.base.frames import LENGTH_BYTES, frame_length, make_frame

# How long a process that has closed its pipe may take to end by itself.
END_S = 1.0


class ChildPipe:
    """The process that a command starts. It has no environment, and its error output is dropped."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None

    async def ask(self, request: bytes) -> bytes:
        """The reply to a request. Raises EOFError, OSError and ValueError if the process failed; then it must be ended.

        Cancelling leaves half of a message in the pipe; the process must be ended then, too.
        """
        process = self._process = self._process or await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdin.is_closing():  # uvloop would raise a RuntimeError for a write
            raise EOFError
        process.stdin.write(make_frame(request))
        await process.stdin.drain()
        head = await process.stdout.readexactly(LENGTH_BYTES)
        return await process.stdout.readexactly(frame_length(head))

    async def end(self) -> int | None:
        """Kill the process. Returns its exit code, or the negative number of a signal, if it had ended by itself."""
        process, self._process = self._process, None
        if process is None:
            return None
        # A process that has closed its pipe is about to end by itself.
        with contextlib.suppress(TimeoutError):
            if process.stdout is not None and process.stdout.at_eof():
                async with asyncio.timeout(END_S):
                    return await process.wait()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return None

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
