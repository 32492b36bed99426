"""The processes that answer costly questions: one for each environment, started when it is needed.

An environment may use so much time in each window and no more: the rest of its questions is refused at once until the window ends. So
code that takes for ever delays no decision about another environment for long. A process that is late, needs too much memory or breaks
its pipe is killed, and fails only the question that it was asked.
"""

import asyncio
from typing import NamedTuple

from precast.base.clock import Clock
from precast.base.confinement.children import command
from precast.base.confinement.confine import Level
from precast.base.confinement.pipes import ChildPipe
from precast.base.errors import PrecastError
from precast.services.traces import issues
from precast.services.traces.costly_child import OUT_OF_MEMORY
from precast.services.traces.costly_messages import CostlyReply, CostlyRequest, IndexFile, Refused, decode_reply, encode

MODULE = "precast.services.traces.costly_child"


class CostlyLimits(NamedTuple):
    """What the questions of one environment may use, and how many processes there may be."""

    budget_s: float = 20.0
    window_s: float = 300.0
    memory_bytes: int = 1024 * 1024 * 1024
    processes: int = 4
    level: Level = Level.STRICT


class _Process:
    """The process of one environment. It answers one question after the other."""

    def __init__(self, limits: CostlyLimits) -> None:
        self.pipe = ChildPipe(command(MODULE, str(limits.memory_bytes), level=limits.level))
        self.turn = asyncio.Lock()
        self.used_s = 0.0
        self.window_s = float("-inf")
        self.spent_s = 0.0

    async def ask(self, request: CostlyRequest) -> CostlyReply:
        """Raises EOFError, OSError and ValueError if the process failed."""
        return decode_reply(await self.pipe.ask(encode(request)))


class CostlyProcesses:
    """All such processes of a server."""

    def __init__(self, clock: Clock, limits: CostlyLimits | None = None) -> None:
        self._clock = clock
        self._limits = limits or CostlyLimits()
        self._processes: dict[str, _Process] = {}

    async def ask(self, environment: str, request: CostlyRequest) -> CostlyReply:
        """Answer a question about the code of an environment. Raises UnavailableError TRACE-002 to TRACE-004.

        Cancelling kills the process of the environment.
        """
        process = await self._find(environment)
        async with process.turn:
            started_s = process.used_s = self._clock.monotonic_s()
            if started_s - process.window_s > self._limits.window_s:
                process.window_s, process.spent_s = started_s, 0.0
            try:
                async with asyncio.timeout(max(0.0, self._limits.budget_s - process.spent_s)):
                    reply = await process.ask(request)
            except TimeoutError:
                process.spent_s = self._limits.budget_s
                await process.pipe.end()
                raise self._explain_delay(environment, request) from None
            except (EOFError, OSError, ValueError) as error:
                raise self._explain_failure(environment, request, await process.pipe.end(), error) from None
            except BaseException:  # the pipe may hold half of a message
                await process.pipe.end()
                raise
            finally:
                process.spent_s += self._clock.monotonic_s() - started_s
        if isinstance(reply, Refused):
            raise issues.ANSWER_REFUSED.error(environment=environment, what=_describe(request), reason=reply.reason)
        return reply

    async def close(self) -> None:
        """End all processes."""
        processes, self._processes = list(self._processes.values()), {}
        for process in processes:
            await process.pipe.end()

    async def _find(self, environment: str) -> _Process:
        process = self._processes.get(environment)
        if process is None:
            process = self._processes[environment] = _Process(self._limits)
            await self._make_room(environment)
        return process

    async def _make_room(self, environment: str) -> None:
        """End the process that was used least recently, if there are too many. What its environment has spent is remembered."""
        running = [
            (process.used_s, name)
            for name, process in self._processes.items()
            if name != environment and process.pipe.is_running and not process.turn.locked()
        ]
        if len(running) >= self._limits.processes:
            await self._processes[min(running)[1]].pipe.end()

    def _explain_delay(self, environment: str, request: CostlyRequest) -> PrecastError:
        return issues.ANSWER_LATE.error(
            environment=environment,
            what=_describe(request),
            limit_s=self._limits.budget_s,
            window_s=self._limits.window_s,
        )

    def _explain_failure(
        self, environment: str, request: CostlyRequest, code: int | None, error: Exception
    ) -> PrecastError:
        reason = f"exit code {code}" if code is not None else f"it broke its pipe ({type(error).__name__})"
        if code == OUT_OF_MEMORY:
            reason = f"it needed more than {self._limits.memory_bytes // 1024**2} MB"
        return issues.ANSWER_FAILED.error(environment=environment, what=_describe(request), reason=reason)


def _describe(request: CostlyRequest) -> str:
    if isinstance(request, IndexFile):
        return f"the data file with digest {request.digest[:12]}"
    return f"the node blocks for {request.certname}"
