"""Runs commands of ours in short-lived processes: what they import and allocate is gone when they are.

A child leads a session of its own and is killed with all it started when it is late or nobody waits for it any more.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Of the last words of a child that failed, what is told.
MAX_WORDS = 500
# Meant for the daemon alone.
_OURS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Ended(NamedTuple):
    """How a child ended. `trouble` is empty if all went well."""

    out: bytes
    trouble: str


class Children:
    """Starts `precast …` as it was started itself, with the same root and configuration."""

    def __init__(self, program: Sequence[str], options: Sequence[str], environment: Mapping[str, str]) -> None:
        self._program = program
        self._options = options
        self._environment = environment

    async def start(self, *words: str) -> asyncio.subprocess.Process | None:
        """Start a command that is left to end by itself; None if it cannot be started. What it prints is dropped."""
        try:
            return await asyncio.create_subprocess_exec(
                *self._program,
                *words,
                *self._options,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=self._variables(),
                start_new_session=True,
            )
        except OSError:
            return None

    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in _OURS}
        return {**kept, **self._environment}

    async def run(self, *words: str, deadline_s: float) -> Ended:
        """Run a command to its end. Cancelling kills it."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._program,
                *words,
                *self._options,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._variables(),
                start_new_session=True,
            )
        except OSError as error:
            return Ended(b"", f"it could not be started: {error.strerror}")
        try:
            async with asyncio.timeout(deadline_s):
                out, error_text = await process.communicate()
        except TimeoutError:
            return Ended(b"", f"it was not done within {deadline_s:g} s")
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if process.returncode:
            said = error_text.decode(errors="replace").strip()[-MAX_WORDS:]
            return Ended(out, said or f"it ended with {process.returncode}")
        return Ended(out, "")


def watch_by_descriptor() -> None:
    """Learn of a child's end through a file descriptor, not through a thread for each."""
    if sys.version_info < (3, 12):  # later ones do so by themselves
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
