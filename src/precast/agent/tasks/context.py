"""What a step of a task gets, and what it returns.

A step is one test, or one attempt of the work. It runs in a process of its own, which the task's process ends at the deadline with
everything that it has started, so a step may wait without looking at the clock. It looks at `must_stop` only to end tidily.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from precast.agent.settings import AgentSettings
from precast.agent.state.store import LocalStore
from precast.wire.jobs.orders import MAX_LINE_CHARS, OutputLine

Stream = Literal["out", "err"]
MAX_MESSAGE_CHARS = 2_000


class StepOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a step has ended. `result` is a JSON object; `report` is the id of the node's own run."""

    is_success: bool
    message: str = ""
    code: int | None = None
    signal: int | None = None
    result: str = ""
    report: str = ""
    telling_line: str = ""  # of the output of its command: that which most often tells why it has failed
    is_final: bool = False  # the step has failed, and would fail again: it is not repeated


class TaskContext(NamedTuple):
    """The node, and the task that a step is part of."""

    order: str
    root: Path
    settings: AgentSettings
    store: LocalStore  # open for this process alone
    deadline_s: float  # of the whole task, by `time.monotonic`
    must_stop: Callable[[], bool]
    emit: Callable[[Sequence[OutputLine]], None]  # adds lines to the output of the task
    handles: tuple[int, ...] = ()  # the open files through which the step speaks to the task's process

    @property
    def left_s(self) -> float:
        """How long the task has until its deadline, at least 0."""
        return max(0.0, self.deadline_s - time.monotonic())

    def say(self, text: str, stream: Stream = "out") -> None:
        """Add lines of our own to the output of the task."""
        self.emit([OutputLine(stream, line[:MAX_LINE_CHARS]) for line in text.splitlines()])


def failed(message: str, *, is_final: bool = False) -> StepOutcome:
    """The outcome of a step that has failed for a reason that one line can tell."""
    return StepOutcome(False, message[:MAX_MESSAGE_CHARS], is_final=is_final)
