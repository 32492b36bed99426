"""Runs Precast's own commands in short-lived child processes: the memory of what they import and allocate is freed when they end.

A child process leads a session of its own. If it is late, or its caller is cancelled, it is killed with every process it started.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Of the standard error of a child that failed, so much is reported.
MAX_ERROR_CHARS = 500
# Environment variables that are for the daemon alone.
_DAEMON_ONLY = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class ChildResult(NamedTuple):
    """How a child process ended. `trouble` is empty if it succeeded."""

    out: bytes
    trouble: str


class ChildProcesses:
    """Starts `precast …` as the daemon itself was started, with the same root and configuration."""

    def __init__(self, program: Sequence[str], options: Sequence[str], environment: Mapping[str, str]) -> None:
        self._program = program
        self._options = options
        self._environment = environment

    async def start(self, *arguments: str) -> asyncio.subprocess.Process | None:
        """Start a command that ends by itself; None if it cannot be started. Its output is dropped."""
        try:
            return await asyncio.create_subprocess_exec(
                *self._program,
                *arguments,
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
        inherited = {name: value for name, value in os.environ.items() if name not in _DAEMON_ONLY}
        return {**inherited, **self._environment}

    async def run(self, *arguments: str, deadline_s: float) -> ChildResult:
        """Run a command to its end. Cancelling kills it."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._program,
                *arguments,
                *self._options,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._variables(),
                start_new_session=True,
            )
        except OSError as error:
            return ChildResult(b"", f"the process could not be started: {error.strerror}")
        try:
            async with asyncio.timeout(deadline_s):
                out, error_text = await process.communicate()
        except TimeoutError:
            return ChildResult(b"", f"the process did not end within {deadline_s:g} s")
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if process.returncode:
            message = error_text.decode(errors="replace").strip()[-MAX_ERROR_CHARS:]
            return ChildResult(out, message or f"the process ended with exit code {process.returncode}")
        return ChildResult(out, "")


def watch_by_descriptor() -> None:
    """Let asyncio learn of a child's end through a file descriptor instead of a thread for each child."""
    if sys.version_info < (3, 12):  # later versions do so by default
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
