"""Runs a program to its end, within limits: a deadline, a bound on what it says, no shell, nobody left behind.

A program leads a session of its own and is killed with all it started when it is late, talks too much, or nobody waits for it
any more.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# Of the last words of a program that failed, what is told.
MAX_WORDS = 500
MAX_ERROR_BYTES = 64 * 1024
READ_BYTES = 64 * 1024


class Ended(NamedTuple):
    """How a program ended. `trouble` is empty if all went well."""

    out: bytes
    trouble: str


async def run(
    words: Sequence[str | Path],
    *,
    deadline_s: float,
    max_out_bytes: int,
    environment: Mapping[str, str],
    stdin: AsyncIterator[bytes] | None = None,
    directory: Path | None = None,
) -> Ended:
    """Run a program; its environment is what is given, and the path to find programs. Cancelling kills it."""
    path = {"PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")}
    try:
        process = await asyncio.create_subprocess_exec(
            *map(str, words),
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**path, **environment},
            cwd=directory,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # a ValueError is a NUL in a word
        return Ended(b"", f"it could not be started: {getattr(error, 'strerror', None) or error}")
    try:
        async with asyncio.timeout(deadline_s), asyncio.TaskGroup() as tasks:
            assert process.stdout is not None
            assert process.stderr is not None
            out = tasks.create_task(_read(process.stdout, max_out_bytes))
            errors = tasks.create_task(_read(process.stderr, MAX_ERROR_BYTES))
            if stdin is not None:
                tasks.create_task(_feed(process, stdin))
        await process.wait()
    except TimeoutError:
        return Ended(b"", f"it was not done within {deadline_s:g} s")
    except ExceptionGroup as group:
        if group.subgroup(_TooMuch) is None:  # what it was to be fed could not be had
            raise group.exceptions[0] from None
        return Ended(b"", f"it said more than {max_out_bytes} bytes")
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if process.returncode:
        said = errors.result().decode(errors="replace").strip()[-MAX_WORDS:]
        return Ended(out.result(), said or f"it ended with {process.returncode}")
    return Ended(out.result(), "")


class _TooMuch(Exception):
    """More came than anybody wants to hold."""


async def _read(stream: asyncio.StreamReader, limit: int) -> bytes:
    found = bytearray()
    while part := await stream.read(READ_BYTES):
        found += part
        if len(found) > limit:
            raise _TooMuch
    return bytes(found)


async def _feed(process: asyncio.subprocess.Process, parts: AsyncIterator[bytes]) -> None:
    """What a program does not want to read is no failure: how it ends says what it is."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        async for part in parts:
            if process.stdin.is_closing():  # for uvloop a write would be a mistake of ours
                break
            process.stdin.write(part)
            await process.stdin.drain()
    process.stdin.close()
