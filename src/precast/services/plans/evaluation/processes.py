"""Evaluates the expressions of plans in processes that can be killed: one for each batch, confined, and limited in time and memory.

An expression that reaches its limit of time or memory, or ends its process, is not evaluated again in that batch: it fails alone, on
every node. The other questions of the batch are asked again.
"""

import asyncio
import importlib.util
import signal
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from precast.base.confinement.children import command
from precast.base.confinement.confine import Level
from precast.base.confinement.pipes import ChildPipe
from precast.plans import issues
from precast.services.plans.evaluation.batches import Answer, Batch, Failure
from precast.services.plans.evaluation.messages import Exceeded, Failed, Invalid, Reply, decode_replies, encode
from precast.services.plans.evaluation.requests import RequestWriter, group_by_node

MODULE: Final = "precast.services.plans.evaluation.child"
# Processes that a batch may lose before it is given up.
MAX_LOST: Final = 40
# As in `child`, which a server does not import: it imports the evaluator.
OUT_OF_MEMORY: Final = 71


class EvaluationLimits(NamedTuple):
    """What one expression and one batch may use, and how many batches are evaluated at once; further ones wait."""

    expression_s: float = 5.0  # of processor time
    batch_s: float = 300.0  # with the time that it waits for its turn
    memory_bytes: int = 1024 * 1024 * 1024
    processes: int = 2
    level: Level = Level.STRICT

    def command(self) -> list[str]:
        return command(MODULE, str(self.memory_bytes), str(self.expression_s), level=self.level)


class PlanEvaluation:
    """Evaluates batches of questions."""

    def __init__(self, limits: EvaluationLimits | None = None) -> None:
        self._limits = limits or EvaluationLimits()
        self._turns = asyncio.Semaphore(self._limits.processes)

    async def evaluate(self, batch: Batch) -> list[Answer]:
        """The answers to the questions of a batch, in order.

        Raises UnavailableError PLAN-065 to PLAN-067, and InputError JSON-001 to JSON-003 for data that is not JSON. Cancelling ends
        the process.
        """
        if not batch.questions:
            return []
        if importlib.util.find_spec("yaql") is None:
            raise issues.NO_YAQL.error()
        try:
            async with asyncio.timeout(self._limits.batch_s), self._turns:
                return await self._evaluate(batch)
        except TimeoutError:
            raise issues.EVALUATION_LATE.error(limit_s=f"{self._limits.batch_s:g}") from None

    async def _evaluate(self, batch: Batch) -> list[Answer]:
        conversation = _Conversation(batch, self._limits)
        try:
            return await conversation.ask_all()
        finally:
            await conversation.close()


class _Conversation:
    """The questions of one batch, and the processes that answer them."""

    def __init__(self, batch: Batch, limits: EvaluationLimits) -> None:
        self._batch = batch
        self._limits = limits
        self._pipe = ChildPipe(limits.command())
        self._writer: RequestWriter | None = None
        self._refused: dict[str, Failure] = {}  # by expression
        self._answers: dict[int, Answer] = {}
        self._lost = 0

    async def ask_all(self) -> list[Answer]:
        for group in group_by_node(self._batch.questions):
            await self._ask_group(group)
        return [self._answers[index] for index in range(len(self._batch.questions))]

    async def close(self) -> None:
        await self._pipe.end()

    async def _ask_group(self, group: list[int]) -> None:
        waiting = [group]
        while waiting:
            part = self._drop_refused(waiting.pop())
            if not part:
                continue
            try:
                await self._ask(part)
            except (EOFError, OSError, ValueError) as error:
                failure = await self._lose_process(error)
                if len(part) == 1:
                    self._refuse(part[0], failure)
                else:
                    waiting += [part[len(part) // 2 :], part[: len(part) // 2]]

    def _drop_refused(self, part: Sequence[int]) -> list[int]:
        """Answer the questions whose expression is refused; the others remain."""
        questions = self._batch.questions
        refused = {index: self._refused.get(questions[index].expression) for index in part}
        self._answers.update({index: Answer(failure=failure) for index, failure in refused.items() if failure})
        return [index for index, failure in refused.items() if failure is None]

    async def _ask(self, part: Sequence[int]) -> None:
        writer = self._writer or await self._start()
        request = writer.write([self._batch.questions[index] for index in part])
        replies = decode_replies(await self._pipe.ask(encode(request)))
        for index, reply in zip(part, replies, strict=True):
            self._take(index, reply)

    async def _start(self) -> RequestWriter:
        """Start a process, and see that it answers. Raises UnavailableError PLAN-065."""
        self._writer = RequestWriter(self._batch)
        try:
            await self._pipe.ask(encode(self._writer.write([])))
        except (EOFError, OSError, ValueError) as error:
            raise issues.EVALUATION_FAILED.error(reason=_explain_end(await self._pipe.end(), error)) from None
        return self._writer

    async def _lose_process(self, error: Exception) -> Failure:
        """End a process that does not answer. Returns what that says about an expression if it was alone."""
        self._writer = None
        code = await self._pipe.end()
        self._lost += 1
        if self._lost > MAX_LOST:
            raise issues.EVALUATION_FAILED.error(reason=_explain_end(code, error))
        if code == -signal.SIGVTALRM:
            return self._exceed("time")
        return (
            self._exceed("memory")
            if code == OUT_OF_MEMORY
            else Failure(issues.EXPRESSION_LIMIT, _explain_end(code, error))
        )

    def _take(self, index: int, reply: Reply) -> None:
        if isinstance(reply, Invalid):
            self._answers[index] = Answer(failure=Failure(issues.BAD_EXPRESSION, reply.reason))
        elif isinstance(reply, Failed):
            self._answers[index] = Answer(failure=Failure(issues.EXPRESSION_FAILED, reply.reason))
        elif not isinstance(reply, Exceeded):
            self._answers[index] = Answer(msgspec.json.decode(reply.json))
        elif reply.limit in ("time", "memory"):
            self._refuse(index, self._exceed(reply.limit))
        else:
            self._answers[index] = Answer(failure=self._exceed(reply.limit))

    def _refuse(self, index: int, failure: Failure) -> None:
        self._refused[self._batch.questions[index].expression] = failure
        self._answers[index] = Answer(failure=failure)

    def _exceed(self, limit: str) -> Failure:
        reasons = {
            "time": f"it needs more than {self._limits.expression_s:g} s of processor time",
            "memory": "it needs too much memory",
            "items": "it makes or goes through a collection of more than 20000 items",
            "depth": "it is nested too deep",
            "size": "its value has more than 1 MB",
        }
        return Failure(issues.EXPRESSION_LIMIT, reasons[limit])


def _explain_end(code: int | None, error: Exception) -> str:
    return (
        f"its process broke its pipe ({type(error).__name__})"
        if code is None
        else f"its process ended with code {code}"
    )
