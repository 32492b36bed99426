"""Runs a command as part of a step: its output is that of the task.

The command leads a group of its own. It is asked to end when its step is; the task's process then kills whatever is left.
"""

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from precast.agent.orders.command_output import Stream
from precast.agent.orders.command_process import CommandResult, command_environment, run_command
from precast.agent.tasks.context import MAX_MESSAGE_CHARS, StepOutcome, TaskContext, failed
from precast.wire.jobs.orders import OutputLine

SHELL = "/bin/sh"
# The task's process bounds the output.
_NO_BOUND = 2**62


class Command(NamedTuple):
    """A command to run."""

    argv: Sequence[str]
    directory: str = "/"  # below the root of the machine
    environment: Mapping[str, str] = {}  # beside what it inherits
    stdin: bytes = b""
    captured_bytes: int = 0  # of its output, for the caller


class CommandEnd(NamedTuple):
    """How a command has ended, and the beginning of what it has printed on standard output."""

    outcome: StepOutcome
    out: bytes = b""


def shell(text: str) -> list[str]:
    """The arguments that let the shell run a text."""
    return [SHELL, "-c", text]


def run_in_step(context: TaskContext, command: Command) -> CommandEnd:
    """Run a command to its end. It has succeeded if it ends with 0."""
    captured, tail = bytearray(), _Tail()
    environment = {**command_environment(context.order), **command.environment}

    def capture(stream: Stream, piece: bytes) -> None:
        if stream == "out":
            captured.extend(piece[: command.captured_bytes - len(captured)])

    def pass_on(first: int, lines: list[OutputLine]) -> None:
        tail.note(lines)
        context.emit(lines)

    try:
        result = run_command(
            command.argv,
            float("inf"),
            _NO_BOUND,
            pass_on,
            directory=_below(context.root, command.directory),
            environment=environment,
            must_stop=context.must_stop,
            stdin=command.stdin,
            on_piece=capture,
        )
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.E2BIG:
            return CommandEnd(failed(_describe_largest(environment), is_final=True))
        reason = error.strerror if isinstance(error, OSError) else str(error)
        named = getattr(error, "filename", None) or command.argv[0]
        return CommandEnd(failed(f"{named} cannot be run: {reason}"))
    return CommandEnd(_judge(result, tail.text), bytes(captured))


def _describe_largest(environment: Mapping[str, str]) -> str:
    """Why the system refuses to start a command: one variable may have 128 KiB, and all together some 2 MiB."""
    sizes = {name: len(value.encode(errors="replace")) for name, value in environment.items()}
    name = max(sizes, key=lambda name: sizes[name])
    return f"it has more in its variables than this system allows: {name} has {sizes[name]} bytes"


def _judge(result: CommandResult, last_line: str) -> StepOutcome:
    if result.code == 0:
        return StepOutcome(True, code=0)
    how = f"it ended with {result.code}" if result.signal is None else f"it was ended by signal {result.signal}"
    return StepOutcome(False, how, result.code, result.signal, telling_line=last_line[:MAX_MESSAGE_CHARS])


class _Tail:
    """The last line of output, of standard error if there is any: it tells most often why a command has failed."""

    def __init__(self) -> None:
        self._last = {"out": "", "err": ""}

    def note(self, lines: Sequence[OutputLine]) -> None:
        for line in lines:
            if text := line.text.strip():
                self._last[line.stream] = text

    @property
    def text(self) -> str:
        return self._last["err"] or self._last["out"]


def _below(root: Path, directory: str) -> Path:
    return root / directory.lstrip("/")
