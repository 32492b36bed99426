"""The compile workers of a server: a process for each version of an environment that has something to compile.

A worker is started when it is needed and retired when nobody has needed it for a while; of many versions only so many have one at
a time. What happens to a worker fails the one compile it was at, as a fault of the machine and not of the code, and the next
compile gets a new process.
"""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from precast.base.clock import Clock
from precast.base.digests import Digest
from precast.base.errors import PrecastError
from precast.lang.answers import NodeData
from precast.services import issues
from precast.services.compile.messages import (
    Begin,
    Broke,
    Compile,
    Compiled,
    Content,
    Want,
    decode_from_worker,
    frame_length,
    framed,
)
from precast.services.compile.worker import OUT_OF_MEMORY

Load = Callable[[Digest], Awaitable[bytes]]


class Limits(NamedTuple):
    """What one worker may use, and how many there are."""

    compile_s: float = 60.0
    memory_bytes: int = 1024 * 1024 * 1024
    idle_s: float = 300.0
    processes: int = 4


class Version(NamedTuple):
    """What a worker compiles from: files by path, as digests."""

    environment: str
    version: str
    files: Mapping[str, Digest]
    constants: Mapping[str, Any]
    is_strict: bool = False


class _Process:
    """One worker. Compiles follow each other."""

    def __init__(self, version: Version, load: Load, limits: Limits) -> None:
        self._version, self._load, self._limits = version, load, limits
        self._process: asyncio.subprocess.Process | None = None
        self.turn = asyncio.Lock()
        self.used_s = 0.0

    async def compile(self, node: NodeData) -> Compiled:
        """Raises UnavailableError COMPILE-001 to COMPILE-003; then the process is gone."""
        try:
            async with asyncio.timeout(self._limits.compile_s):
                return await self._compile(node)
        except TimeoutError:
            await self.end()
            raise issues.COMPILE_LATE.error(node=node.certname, limit_s=self._limits.compile_s) from None
        except (EOFError, ConnectionError, asyncio.IncompleteReadError, ValueError) as error:
            raise await self._what_happened(node, error) from None
        except BaseException:
            # Its pipe may hold half of a message.
            await self.end()
            raise

    async def end(self) -> None:
        """Kill it. Harmless if it is gone."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _compile(self, node: NodeData) -> Compiled:
        process = self._process = self._process or await self._start()
        assert process.stdin is not None
        _tell(process.stdin, Compile(node))
        while True:
            await process.stdin.drain()
            match decode_from_worker(await _frame(process)):
                case Compiled() as compiled:
                    return compiled
                case Broke(reason):
                    await self.end()
                    raise issues.COMPILE_CRASHED.error(node=node.certname, reason=reason)
                case Want(digest):
                    _tell(process.stdin, Content(await self._load(digest)))

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "precast.services.compile.worker",
            str(self._limits.memory_bytes),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert process.stdin is not None
        version = self._version
        files, constants = dict(version.files), dict(version.constants)
        _tell(process.stdin, Begin(version.environment, files, constants, version.is_strict))
        return process

    async def _what_happened(self, node: NodeData, error: Exception) -> PrecastError:
        process = self._process
        if isinstance(error, ValueError) or process is None:
            await self.end()
            return issues.COMPILE_CRASHED.error(node=node.certname, reason=f"it wrote what cannot be read: {error}")
        code = await process.wait()
        self._process = None
        if code == OUT_OF_MEMORY:
            limit = self._limits.memory_bytes // 1024 // 1024
            return issues.COMPILE_MEMORY.error(node=node.certname, limit_mb=limit)
        reason = f"signal {-code}" if code < 0 else f"exit code {code}"
        return issues.COMPILE_CRASHED.error(node=node.certname, reason=reason)


def _tell(pipe: asyncio.StreamWriter, message: Begin | Compile | Content) -> None:
    """Raises ConnectionError if it is gone: uvloop takes a write to a closed pipe for a mistake of ours."""
    if pipe.is_closing():
        raise ConnectionResetError("its pipe is closed")
    pipe.write(framed(message))


class Workers:
    """All of them. Cancelling a compile ends its process."""

    def __init__(self, load: Load, clock: Clock, limits: Limits | None = None) -> None:
        self._load, self._clock = load, clock
        self._limits = limits or Limits()
        self._processes: dict[tuple[str, str], _Process] = {}

    @property
    def limit_s(self) -> float:
        """How long a compile may take."""
        return self._limits.compile_s

    async def compile(self, version: Version, node: NodeData) -> Compiled:
        """Compile for a node. Raises UnavailableError COMPILE-001 to COMPILE-003 for what is no fault of the code."""
        key = (version.environment, version.version)
        process = self._processes.get(key)
        if process is None:
            await self._make_room()
            process = self._processes.setdefault(key, _Process(version, self._load, self._limits))
        async with process.turn:
            process.used_s = self._clock.monotonic_s()
            return await process.compile(node)

    async def retire(self) -> None:
        """End those that nobody has needed for a while."""
        now_s = self._clock.monotonic_s()
        for key, process in list(self._processes.items()):
            if not process.turn.locked() and now_s - process.used_s > self._limits.idle_s:
                del self._processes[key]
                await process.end()

    async def close(self) -> None:
        """End them all."""
        processes, self._processes = list(self._processes.values()), {}
        for process in processes:
            await process.end()

    async def _make_room(self) -> None:
        """The one that was needed least lately goes; if all are at work, there is one more for a time."""
        idle = [(one.used_s, key) for key, one in self._processes.items() if not one.turn.locked()]
        if len(self._processes) >= self._limits.processes and idle:
            await self._processes.pop(min(idle)[1]).end()


async def _frame(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.readexactly(frame_length(await process.stdout.readexactly(4)))
