"""The asynchronous runner of programs: argv without a shell, a deadline, a bound on the output, an environment that the caller gives.

A program leads a session and a process group of its own. The whole group is killed when the program is late, prints too much, or the
caller is cancelled. `programs` is the same for code without an event loop.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from precast.base.programs import signal_group

# How much of the end of its error output explains why a program failed.
MAX_REASON_CHARS = 500
MAX_ERROR_BYTES = 64 * 1024
READ_BYTES = 64 * 1024


class ProgramOutcome(NamedTuple):
    """How a program ended. `trouble` says why it failed, and is empty on success."""

    out: bytes
    trouble: str


async def run(
    argv: Sequence[str | Path],
    *,
    deadline_s: float,
    max_out_bytes: int,
    environment: Mapping[str, str],
    stdin: AsyncIterator[bytes] | None = None,
    directory: Path | None = None,
    max_error_bytes: int = MAX_ERROR_BYTES,
) -> ProgramOutcome:
    """Run a program to its end, with our search path and the given environment. Cancelling kills it with all it started."""
    try:
        process = await _spawn(argv, environment, asyncio.subprocess.PIPE, directory, stdin is not None)
    except (OSError, ValueError) as error:  # a ValueError is a NUL in an argument
        return ProgramOutcome(b"", f"the process could not be started: {getattr(error, 'strerror', None) or error}")
    try:
        async with asyncio.timeout(deadline_s), asyncio.TaskGroup() as tasks:
            assert process.stdout is not None
            assert process.stderr is not None
            out = tasks.create_task(_read(process.stdout, max_out_bytes))
            errors = tasks.create_task(_read(process.stderr, max_error_bytes))
            if stdin is not None:
                tasks.create_task(_feed(process, stdin))
            tasks.create_task(process.wait())
    except TimeoutError:
        return ProgramOutcome(b"", f"the process did not end within {deadline_s:g} s")
    except ExceptionGroup as group:
        if (excess := group.subgroup(_TooMuchOutputError)) is None:  # the source of its input failed
            raise group.exceptions[0] from None
        return ProgramOutcome(b"", f"the process printed more than {excess.exceptions[0]} bytes")
    finally:
        await _kill(process)
    if process.returncode:
        reason = errors.result().decode(errors="replace").strip()[-MAX_REASON_CHARS:]
        return ProgramOutcome(out.result(), reason or f"the process ended with exit code {process.returncode}")
    return ProgramOutcome(out.result(), "")


async def start(argv: Sequence[str | Path], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start a program without input that is left to end by itself; its output is dropped. Raises OSError."""
    return await _spawn(argv, environment, asyncio.subprocess.DEVNULL)


async def _spawn(
    argv: Sequence[str | Path],
    environment: Mapping[str, str],
    output: int,
    directory: Path | None = None,
    has_input: bool = False,
) -> asyncio.subprocess.Process:
    """Start a program. Cancelling kills it with all it started; asyncio itself would kill only the program."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *map(str, argv),
            stdin=asyncio.subprocess.PIPE if has_input else asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={"PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"), **environment},
            cwd=directory,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError, ValueError):
            await _kill(await starting)
        raise


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the whole group, and wait for the program's end."""
    signal_group(process.pid, signal.SIGKILL)
    # `wait` also waits until the pipes are closed, and a process that has left the group may keep them open. asyncio has no public
    # method that closes them.
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]
    for descriptor in (0, 1, 2):
        if (pipe := transport.get_pipe_transport(descriptor)) is not None:
            pipe.close()
    await process.wait()


class _TooMuchOutputError(Exception):
    """A program has printed more than its limit, which is the argument."""


async def _read(stream: asyncio.StreamReader, limit: int) -> bytes:
    data = bytearray()
    while part := await stream.read(READ_BYTES):
        data += part
        if len(data) > limit:
            raise _TooMuchOutputError(limit)
    return bytes(data)


async def _feed(process: asyncio.subprocess.Process, parts: AsyncIterator[bytes]) -> None:
    """Write the input. A program that does not read all of it has not failed: only its exit code decides that."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        async for part in parts:
            if process.stdin.is_closing():  # uvloop raises an error on a write then
                break
            process.stdin.write(part)
            await process.stdin.drain()
    process.stdin.close()
