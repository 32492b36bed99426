"""Works that run a command: a text of the shell, or a file of the environment.

The values that a task gets from other tasks are data: variables with names of their own, and a document on standard input. They never
become part of a command's text.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from precast.agent.tasks.context import StepOutcome, TaskContext, failed
from precast.agent.tasks.files.executables import fetch_executable
from precast.agent.tasks.step_commands import Command, CommandEnd, run_in_step, shell
from precast.wire.jobs.orders import MAX_RESULT_CHARS
from precast.wire.jobs.programs import ExecutableWork, ShellWork

PREFIX = "PT_"
# The system takes no variable of 128 KiB, with its name and the end.
MAX_VARIABLE_BYTES = 128 * 1024 - 1
# What is read of standard output to find a result in it, so that one that is too large can be told from a text.
MAX_OUT_BYTES = 16 * MAX_RESULT_CHARS
TOO_LARGE = f"the result that it has printed is larger than {MAX_RESULT_CHARS} characters; let it print less"


def run_shell(context: TaskContext, work: ShellWork, inputs: Mapping[str, Any]) -> StepOutcome:
    """Run a text with the shell. What it prints is a result only if others take inputs from it: else it may print anything."""
    environment = {**work.environment, **variables(inputs)}
    captured_bytes = MAX_OUT_BYTES if work.returns else 0
    ended = run_in_step(context, Command(shell(work.cmd), work.directory, environment, captured_bytes=captured_bytes))
    return _with_result(ended) if work.returns else ended.outcome


def run_executable(context: TaskContext, work: ExecutableWork, inputs: Mapping[str, Any]) -> StepOutcome:
    """Run a file of the environment. If it prints a JSON object, that is the result. Raises as `fetch_executable` does."""
    path = fetch_executable(context, work.content)
    parameters = {**work.parameters, **inputs}
    ended = run_in_step(
        context,
        Command(
            [str(path)],
            environment=_choose_variables(work, parameters),
            stdin=msgspec.json.encode(parameters) if work.input != "environment" else b"",
            captured_bytes=MAX_OUT_BYTES,
        ),
    )
    return _with_result(ended)


def _choose_variables(work: ExecutableWork, parameters: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a file of the environment. What it gets on standard input anyway is left out if it is too large for a variable."""
    if work.input == "stdin":
        return {}
    chosen = variables(parameters)
    if work.input == "environment":
        return chosen
    sizes = {name: len(f"{name}={value}".encode(errors="replace")) for name, value in chosen.items()}
    return {name: value for name, value in chosen.items() if sizes[name] < MAX_VARIABLE_BYTES}


def variables(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as variables of a command: texts as they are, all others as JSON."""
    return {
        PREFIX + name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in values.items()
    }


def _with_result(ended: CommandEnd) -> StepOutcome:
    """The outcome with the result. A result that is too large fails a task that has succeeded: others may need it."""
    result = _find_result(ended.out)
    if result is not None:
        return msgspec.structs.replace(ended.outcome, result=result)
    return failed(TOO_LARGE, is_final=True) if ended.outcome.is_success else ended.outcome


def _find_result(out: bytes) -> str | None:
    """The JSON object that was printed; empty if it was none, None if it is too large."""
    text = out.strip()
    if not text.startswith(b"{"):
        return ""
    if len(out) >= MAX_OUT_BYTES:
        return None
    try:
        found = msgspec.json.encode(msgspec.json.decode(text, type=dict[str, Any])).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return None if len(found) > MAX_RESULT_CHARS else found
