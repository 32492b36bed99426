"""Starts the processes that may change this node, one at a time, and ends those that are late or aborted.

Each holds the node's lease while it works, so it never overlaps with a run that a person or an earlier daemon has started. A daemon that
ends asks a run to stop after the current resource; a command goes on without it. Only a process that is far too late is killed, by the
daemon that is there then, because it would keep every later one from beginning.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from precast.agent.applying.lease import is_run_active
from precast.agent.chores import run_process
from precast.agent.chores.child_processes import ChildProcesses
from precast.agent.chores.run_process import RunProcess
from precast.agent.orders.work_process import WorkProcess
from precast.agent.state.paths import STATE
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError

log = logging.getLogger("precast.agent")

# How long a daemon that ends waits for its process. One that needs longer ends by itself.
GRACE_S = 5.0
# The exit code for a process that could not be started, as shells have it.
NOT_STARTED = 126


class LeasedProcesses:
    """The processes of one daemon, and the one that an earlier daemon has left running."""

    def __init__(self, children: ChildProcesses, store: LocalStore, root: Path, on_ended: Callable[[], None]) -> None:
        """`on_ended` is called when a process has ended and another one may begin."""
        self._children = children
        self._store = store
        self.state = root / STATE
        self._on_ended = on_ended
        self._turn = asyncio.Lock()
        self._stopped: set[int] = set()  # the pids of processes that were asked to stop
        self.kill_reason = ""  # of the process that was killed last, until what it did is answered

    def is_busy(self) -> bool:
        """Whether a process works on this node, or is about to."""
        return self._turn.locked() or is_run_active(self.state)

    async def carry_out(self, work: WorkProcess) -> int | None:
        """Start a process and wait for its end. Returns its exit code, or `NOT_STARTED`; None if it had to be killed."""
        async with self._turn:
            process = await self._children.start(*work.arguments)
            if process is None:
                log.error("a process could not be started: precast %s", " ".join(work.arguments[:2]))
                return NOT_STARTED
            try:
                code = await self._wait_for(process, self._note(process.pid, work))
            except asyncio.CancelledError:
                if work.stops_with_daemon:
                    await _stop(process)
                raise
            finally:
                self._stopped.discard(process.pid)
        self._on_ended()
        return code

    def stop_order(self, order_id: str) -> None:
        """Ask the process that carries out an order to end, once, whichever daemon has started it."""
        process = self._store.read_note(RunProcess)
        if process is not None and process.order == order_id and process.is_alive:
            self._request_stop(process.pid)

    def end_late(self) -> None:
        """Stop or kill a late process that an earlier daemon has started."""
        process = self._store.read_note(RunProcess)
        if self._turn.locked() or process is None or not process.is_alive:
            return
        late_s = process.age_s - process.limit.total_seconds()
        if late_s > run_process.STOP_GRACE.total_seconds():
            self._kill(process)
        elif late_s > 0:
            self._request_late_stop(process)

    async def _wait_for(self, process: asyncio.subprocess.Process, noted: RunProcess) -> int | None:
        """Wait for the end of a process and return its exit code; None if it had to be killed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(noted.limit.total_seconds()):
                return await process.wait()
        self._request_late_stop(noted)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(run_process.STOP_GRACE.total_seconds()):
                return await process.wait()
        self._kill(noted)
        # A process in an uninterruptible system call ends only after it; until then its lease keeps other processes away.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(run_process.STOP_GRACE.total_seconds()):
                await process.wait()
        return None

    def _note(self, pid: int, work: WorkProcess) -> RunProcess:
        """Note a process for the next daemon. If that fails, this daemon watches the process all the same."""
        limit_s = None if work.limit is None else work.limit.total_seconds()
        found = run_process.find_process(pid) or RunProcess(pid, 0, "")
        process = msgspec.structs.replace(found, order=work.order, limit_s=limit_s)
        try:
            self._store.write_note(process)
        except PrecastError as error:
            log.error("the process of a run could not be noted: %s", error)
        return process

    def _request_late_stop(self, process: RunProcess) -> None:
        if self._request_stop(process.pid):
            log.error("a process has taken more than %s and is asked to stop", process.limit)

    def _request_stop(self, pid: int) -> bool:
        """Ask a process to stop; False if it was asked before. A run takes a second signal as the wish to end at once."""
        if pid in self._stopped:
            return False
        self._stopped.add(pid)
        run_process.request_stop(pid)
        return True

    def _kill(self, process: RunProcess) -> None:
        self.kill_reason = (
            f"it took more than {process.limit}, was asked to stop,"
            f" did not stop within {run_process.STOP_GRACE}, and was killed"
        )
        log.error("a process is killed: %s", self.kill_reason)
        run_process.kill_group(process.pid)


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, TimeoutError):
        process.terminate()
        async with asyncio.timeout(GRACE_S):
            await process.wait()
