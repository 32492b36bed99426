"""What the process of a task writes into the local store: the phases of the task, the lines of its output, and its end.

Lines are numbered over all phases, and over all processes of the task. Output beyond its bound, or for which the disk has no space, is
dropped and counted with all that follows it: what was sent is its beginning, without gaps. The store is closed while a step begins,
because a fork must not inherit an open database.
"""

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from precast.agent.applying.reporting.reporter import close_within
from precast.agent.orders.command_process import BATCH_BYTES, BATCH_S
from precast.agent.orders.order_queue import MAX_REASON_CHARS
from precast.agent.orders.task_orders import RequestedReboot, TaskOrders, TaskProgress
from precast.agent.settings import AgentSettings
from precast.agent.state.paths import STATE
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.agent.state.wakeup import wake_daemon
from precast.agent.tasks.files.whole_output import OutputSpool
from precast.base.errors import UnavailableError
from precast.wire.jobs.orders import OutputLine, TaskEnded
from precast.wire.jobs.programs import Phase

log = logging.getLogger("precast.agent")


class TaskJournal:
    """The journal of one task that has begun, or is about to."""

    def __init__(self, root: Path, settings: AgentSettings, life: str | None, order_id: str) -> None:
        self._root, self._settings, self._life, self._order = root, settings, life, order_id
        self._store: LocalStore | None = None
        self._limit_bytes = 0
        self._ready: list[OutputLine] = []
        self._ready_bytes = 0
        self._flushed_s = 0.0
        self._progress: TaskProgress | None = None
        self.output: OutputSpool | None = None  # all of it, once the task has begun

    @property
    def store(self) -> LocalStore:
        """The store, which is opened if it is closed. Raises as `LocalStore.open` does."""
        if self._store is None:
            self._store = LocalStore.open(self._root, lambda: os.urandom(16).hex(), life=self._life)
        return self._store

    @property
    def spool(self) -> Spool:
        return Spool(self.store, SpoolLimits(self._settings.spool_records, self._settings.spool_bytes))

    @property
    def orders(self) -> TaskOrders:
        return TaskOrders(self.store, self.spool)

    @property
    def progress(self) -> TaskProgress:
        assert self._progress is not None, "the task has begun"
        return self._progress

    def close(self) -> None:
        """Write what is not written yet, and close the store."""
        if self._ready:
            self.flush()
        if self._store is not None:
            self._store.close()
            self._store = None

    def begin(self, limit_bytes: int) -> TaskProgress:
        """Begin the task, for the first time or again. Raises ConflictError AGENT-030 if it was not granted."""
        self.orders.begin(self._order)
        progress = self.orders.read_progress(self._order)
        assert progress is not None, "it is written when the task begins"
        self._progress, self._limit_bytes = progress, limit_bytes
        self.output = OutputSpool(self._root)
        if printed := progress.output_bytes + progress.cut_bytes:
            self.output.size = printed
            self.output.give_up("an earlier process of the task, which has ended, has printed a part of it")
        return progress

    def enter_phase(self, phase: Phase, message: str) -> None:
        """Report that a phase begins, or that the work is repeated."""
        self.flush()
        self._progress = msgspec.structs.replace(self.progress, phase=phase, reboot=None)
        self.orders.enter_phase(self._order, self.progress, message[:MAX_REASON_CHARS])
        self._wake()

    def add(self, lines: Sequence[OutputLine]) -> None:
        """Add lines to the output. They are sent in batches; without lines, what is there is sent if it is time."""
        assert self.output is not None, "the task has begun"
        for line in lines:
            text = line.text.encode(errors="replace") + b"\n"
            self.output.add(text)
            size = len(text)
            if self.progress.cut_bytes or self.progress.output_bytes + size > self._limit_bytes:
                self._progress = msgspec.structs.replace(self.progress, cut_bytes=self.progress.cut_bytes + size)
                continue
            self._progress = msgspec.structs.replace(self.progress, output_bytes=self.progress.output_bytes + size)
            self._ready.append(line)
            self._ready_bytes += size
            if self._ready_bytes >= BATCH_BYTES:
                self.flush()
        if self._ready and time.monotonic() - self._flushed_s >= BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Send the lines that were not sent yet. Those that cannot be stored are dropped: a full disk ends no work in its middle."""
        self._flushed_s = time.monotonic()
        lines, self._ready = self._ready, []
        size, self._ready_bytes = self._ready_bytes, 0
        if not lines:
            return
        before = self.progress
        self._progress = msgspec.structs.replace(before, lines=before.lines + len(lines))
        try:
            self.orders.send_output(self._order, before.lines, lines, self.progress)
        except UnavailableError as error:
            log.warning("output of the task %s is dropped: %s", self._order, error.message)
            self._progress = msgspec.structs.replace(before, cut_bytes=before.cut_bytes + size)
            return
        self._wake()

    def note_reboot(self, boot_id: str) -> None:
        """Note that the work is about to reboot the machine, so that the task is continued in the next boot."""
        reboot = RequestedReboot(boot_id, self.store.clock.monotonic_s())
        self._progress = msgspec.structs.replace(self.progress, reboot=reboot)
        self.orders.write_progress(self._order, self.progress)

    def close_report(self, why: str) -> str:
        """Report a run as broken off whose step was killed. Returns the id of its report; empty if there is none."""
        found = self.store.read("SELECT id FROM open_report")
        if found:
            with self.store.transaction() as db:
                close_within(self.store, self.spool, db, why)
        return str(found[-1][0]) if found else ""

    @property
    def cut_output(self) -> OutputSpool | None:
        """All output, if some of it is not sent as lines. Called after `flush`."""
        return self.output if self.progress.cut_bytes else None

    def end(self, ended: TaskEnded, *, is_stopped: bool) -> None:
        """Report the end of the task."""
        self.flush()
        counted = msgspec.structs.replace(ended, lines=self.progress.lines, cut_bytes=self.progress.cut_bytes)
        self.orders.end(counted, is_stopped=is_stopped)
        if self.output is not None:
            self.output.close()
        self._wake()

    def _wake(self) -> None:
        wake_daemon(self._root / STATE)
