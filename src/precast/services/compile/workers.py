"""The compile workers of a server: one process for each version of an environment that has something to compile.

A worker is started when it is needed and ended when it has been idle for a while; the number of workers at a time is limited. A crash of
a worker fails only its present compile, as a fault of the machine and not of the code, and the next compile gets a new process.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from precast.base.clock import Clock
from precast.base.confinement.children import UNCONFINED, command
from precast.base.confinement.confine import Level
from precast.base.digests import Digest
from precast.base.errors import PrecastError
from precast.base.frames import LENGTH_BYTES, frame_length
from precast.lang.exports import ExportsAnswer
from precast.lang.inputs import ExportedQuery
from precast.lang.node_answers import NodeData
from precast.lang.puppetdb.answers import EncodedAnswer
from precast.services.compile import issues
from precast.services.compile.messages import (
    Begin,
    Compile,
    Compiled,
    Content,
    ContentRequest,
    Exports,
    ExportsRequest,
    FleetReply,
    FleetRequest,
    ToWorker,
    WorkerFault,
    WorkerRequest,
    decode_from_worker,
    encode_frame,
)
from precast.services.compile.worker import OUT_OF_MEMORY
from precast.services.compile.worker_requests import ServerRequests, WorkerRequests

MODULE = "precast.services.compile.worker"

Load = Callable[[Digest], Awaitable[bytes]]
# Answers a collector's question for a node of an environment.
LoadExports = Callable[[str, str, ExportedQuery], Awaitable[ExportsAnswer]]
# Answers a query over the fleet for an environment.
AnswerFleet = Callable[[str, str], Awaitable[EncodedAnswer]]


class Limits(NamedTuple):
    """What one worker may use, and how many workers there may be."""

    compile_s: float = 60.0
    memory_bytes: int = 1024 * 1024 * 1024
    idle_s: float = 300.0
    processes: int = 4
    level: Level = Level.STRICT


class Sources(NamedTuple):
    """What workers may ask for: files, what is known of other nodes, and secrets. Without `exports` none are collected, with a warning."""

    content: Load
    exports: LoadExports | None = None
    fleet: AnswerFleet | None = None
    requests: WorkerRequests = ServerRequests()


class Version(NamedTuple):
    """The version that a worker compiles: its files by path, as digests, its constants, and its environment's key of answers."""

    environment: str
    version: str
    files: Mapping[str, Digest]
    constants: Mapping[str, Any]
    answer_key: bytes = b""
    is_strict: bool = False


def worker_command(limits: Limits) -> list[str]:
    """The command that starts a worker."""
    return command(MODULE, str(limits.memory_bytes), level=limits.level)


class _Process:
    """One worker. Its compiles run one after the other."""

    def __init__(self, version: Version, sources: Sources, limits: Limits) -> None:
        self._version, self._sources, self._limits = version, sources, limits
        self._process: asyncio.subprocess.Process | None = None
        self.turn = asyncio.Lock()
        self.used_s = 0.0

    async def compile(self, node: NodeData) -> Compiled:
        """Compile for a node. Raises UnavailableError COMPILE-001 to COMPILE-003; the process has ended then."""
        try:
            async with asyncio.timeout(self._limits.compile_s):
                return await self._compile(node)
        except TimeoutError:
            await self.end()
            raise issues.COMPILE_LATE.error(node=node.certname, limit_s=self._limits.compile_s) from None
        except (EOFError, ConnectionError, asyncio.IncompleteReadError, ValueError) as error:
            raise await self._explain_failure(node, error) from None
        except BaseException:
            # The pipe may hold half of a message.
            await self.end()
            raise

    async def end(self) -> None:
        """Kill the process. Harmless if it has ended."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _compile(self, node: NodeData) -> Compiled:
        process = self._process = self._process or await self._start()
        assert process.stdin is not None
        _send(process.stdin, Compile(node))
        while True:
            await process.stdin.drain()
            match decode_from_worker(await _frame(process)):
                case Compiled() as compiled:
                    return compiled
                case WorkerFault(reason):
                    await self.end()
                    raise issues.COMPILE_CRASHED.error(node=node.certname, reason=reason)
                case request:
                    _send(process.stdin, await self._answer(node, request))

    async def _answer(
        self, node: NodeData, request: ContentRequest | ExportsRequest | FleetRequest | WorkerRequest
    ) -> ToWorker:
        environment, sources = self._version.environment, self._sources
        match request:
            case ContentRequest(digest):
                return Content(await sources.content(digest))
            case ExportsRequest(question):
                if sources.exports is not None:
                    return Exports(await sources.exports(environment, node.certname, question))
            case FleetRequest(query):
                if sources.fleet is not None:
                    return FleetReply(await sources.fleet(environment, query))
            case _:
                return await sources.requests.reply(environment, node.certname, request)
        raise ValueError("it asked about other nodes, of which this server tells nothing")

    async def _start(self) -> asyncio.subprocess.Process:
        """Start the process in a session of its own and without our environment, which holds the password of the database."""
        process = await asyncio.create_subprocess_exec(
            *worker_command(self._limits),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )
        assert process.stdin is not None
        version = self._version
        files, constants = dict(version.files), dict(version.constants)
        rest = version.answer_key, version.is_strict, self._sources.exports is not None
        _send(process.stdin, Begin(version.environment, files, constants, *rest))
        return process

    async def _explain_failure(self, node: NodeData, error: Exception) -> PrecastError:
        process = self._process
        if isinstance(error, ValueError) or process is None:
            await self.end()
            return issues.COMPILE_CRASHED.error(node=node.certname, reason=f"it wrote an invalid message: {error}")
        code = await process.wait()
        self._process = None
        if code == OUT_OF_MEMORY:
            limit = self._limits.memory_bytes // 1024 // 1024
            return issues.COMPILE_MEMORY.error(node=node.certname, limit_mb=limit)
        if code == UNCONFINED:
            return issues.COMPILE_CRASHED.error(node=node.certname, reason="it could not be confined")
        reason = f"signal {-code}" if code < 0 else f"exit code {code}"
        return issues.COMPILE_CRASHED.error(node=node.certname, reason=reason)


def _send(pipe: asyncio.StreamWriter, message: ToWorker) -> None:
    """Send a message. Raises ConnectionError if the pipe is closed: uvloop would raise a RuntimeError for such a write."""
    if pipe.is_closing():
        raise ConnectionResetError("its pipe is closed")
    pipe.write(encode_frame(message))


class Workers:
    """All workers of this server. Cancelling a compile ends its process."""

    def __init__(self, sources: Sources, clock: Clock, limits: Limits | None = None) -> None:
        self._sources, self._clock = sources, clock
        self._limits = limits or Limits()
        self._processes: dict[tuple[str, str], _Process] = {}

    @property
    def limit_s(self) -> float:
        """The time limit of a compile."""
        return self._limits.compile_s

    async def compile(self, version: Version, node: NodeData) -> Compiled:
        """Compile for a node. Raises UnavailableError COMPILE-001 to COMPILE-003 for a fault that is not an error of the code."""
        key = (version.environment, version.version)
        process = self._processes.get(key)
        if process is None:
            await self._make_room()
            process = self._processes.setdefault(key, _Process(version, self._sources, self._limits))
        async with process.turn:
            process.used_s = self._clock.monotonic_s()
            return await process.compile(node)

    async def retire(self) -> None:
        """End the workers that have been idle for a while."""
        now_s = self._clock.monotonic_s()
        for key, process in list(self._processes.items()):
            if not process.turn.locked() and now_s - process.used_s > self._limits.idle_s:
                del self._processes[key]
                await process.end()

    async def close(self) -> None:
        """End all workers."""
        processes, self._processes = list(self._processes.values()), {}
        for process in processes:
            await process.end()

    async def _make_room(self) -> None:
        """End the least recently used idle worker if the limit is reached; if all are at work, there is one more for a time."""
        idle = [(process.used_s, key) for key, process in self._processes.items() if not process.turn.locked()]
        if len(self._processes) >= self._limits.processes and idle:
            await self._processes.pop(min(idle)[1]).end()


async def _frame(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.readexactly(frame_length(await process.stdout.readexactly(LENGTH_BYTES)))
