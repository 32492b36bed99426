"""Runs Precast's own commands in short-lived child processes: the memory of what they import and allocate is freed when they end.

`base.async_programs` starts and kills them: a child that is late, or whose caller is cancelled, is killed with every process it started.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from precast.agent.connection.session_process import ProcessConnector
from precast.agent.state.status_notes import NetworkNote
from precast.base import async_programs
from precast.base.async_programs import ProgramOutcome

MAX_OUT_BYTES = 64 << 20
MAX_ERROR_BYTES = 16 << 20
# Environment variables that are for the daemon alone.
_DAEMON_ONLY = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class ChildProcesses:
    """Starts `precast …` as the daemon itself was started, with the same root and configuration."""

    def __init__(self, program: Sequence[str], options: Sequence[str], environment: Mapping[str, str]) -> None:
        self._program = program
        self._options = options
        self._environment = environment

    async def start(self, *arguments: str) -> asyncio.subprocess.Process | None:
        """Start a command that ends by itself; None if it cannot be started. Its output is dropped."""
        try:
            return await async_programs.start(self._argv(arguments), self._variables())
        except OSError:
            return None

    async def run(self, *arguments: str, deadline_s: float) -> ProgramOutcome:
        """Run a command to its end. Cancelling kills it."""
        return await async_programs.run(
            self._argv(arguments),
            deadline_s=deadline_s,
            max_out_bytes=MAX_OUT_BYTES,
            max_error_bytes=MAX_ERROR_BYTES,
            environment=self._variables(),
        )

    def connector(self, is_enrolled: Callable[[], bool], on_started: Callable[[NetworkNote], None]) -> ProcessConnector:
        """Opens the connections of sessions, each in a process of its own."""
        return ProcessConnector(self._argv(["agent", "network"]), self._variables(), is_enrolled, on_started)

    def _argv(self, arguments: Sequence[str]) -> list[str]:
        return [*self._program, *arguments, *self._options]

    def _variables(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in _DAEMON_ONLY}
        return {**inherited, **self._environment}


def watch_by_descriptor() -> None:
    """Let asyncio learn of a child's end through a file descriptor instead of a thread for each child."""
    if sys.version_info < (3, 12):  # later versions do so by default
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
