"""The order to carry out a task of a plan: tests before it, its work, and tests after it, as one attempt with one deadline.

How far a task has come is stored with its order, in the transactions that report it. So lines of output are numbered without a gap however
often its process ends, and a task that reboots the machine is continued after the reboot, with its last tests. A task whose process dies
is answered as interrupted, in the phase in which it was; but one that only applies catalogs, or does nothing but test, is repeated.
"""

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from precast.agent import issues
from precast.agent.identity.machine import read_boot_id
from precast.agent.orders.order_queue import FROM_OUTSIDE, MAX_BEGINS, BegunOrder, OrderQueue
from precast.agent.orders.reboot_orders import DEADLINE_S, NOT_REBOOTED
from precast.agent.orders.work_process import WAIT_S, WorkProcess
from precast.agent.state.spool import Importance
from precast.base.clock import Clock
from precast.wire.jobs.orders import (
    EXEC_OUTPUT,
    TASK,
    TASK_ENDED,
    TASK_PHASE,
    ExecOutput,
    OutputLine,
    SignedTaskOrder,
    TaskEnded,
    TaskOrder,
    TaskPhase,
)
from precast.wire.jobs.programs import CatalogWork, ManifestWork, NoWork, Phase, parse_program

# How long the catalogs of a task may take to be fetched, before it begins.
PREPARE_S = 300.0
# How long processes of a task have to end at its deadline, before they are killed.
END_S = 60.0
_IDEMPOTENT = (NoWork, CatalogWork, ManifestWork)


class RequestedReboot(msgspec.Struct, frozen=True):
    """A reboot that the work of a task has requested: in which boot, and when by the clock of that boot."""

    boot_id: str
    at_s: float


class TaskProgress(msgspec.Struct, frozen=True):
    """How far a task has come."""

    began_at: datetime
    boot_id: str  # of the boot in which it began
    began_s: float  # by the clock of that boot
    phase: Phase = "pre-test"
    lines: int = 0  # of output that were sent
    output_bytes: int = 0
    cut_bytes: int = 0
    reboot: RequestedReboot | None = None

    def left_s(self, timeout_s: float, clock: Clock) -> float:
        """How long the task has until its deadline. In another boot, only the time of day tells how long it has taken."""
        if self.boot_id == read_boot_id():
            return timeout_s - (clock.monotonic_s() - self.began_s)
        return min(timeout_s, timeout_s - (clock.now() - self.began_at).total_seconds())

    @property
    def has_rebooted(self) -> bool:
        """Whether the machine has rebooted since the work requested it."""
        return self.reboot is not None and self.reboot.boot_id != read_boot_id()


class TaskOrders(OrderQueue[SignedTaskOrder]):
    """Ordered tasks, as they were received: `order_check` verifies one before it begins.

    A task survives a restart of the daemon: its own process answers how it ended.
    """

    name = TASK
    message = SignedTaskOrder
    noun = "task"
    cannot_begin = issues.NO_COMMAND

    def process(self, order: SignedTaskOrder) -> WorkProcess:
        limit = timedelta(seconds=order.timeout_s + WAIT_S + PREPARE_S + END_S)
        return WorkProcess(["agent", "task", "--order", order.order], order.order, limit, stops_with_daemon=False)

    def read_progress(self, order_id: str) -> TaskProgress | None:
        """How far a task has come; None if it has never begun."""
        rows = self._store.read("SELECT progress FROM queued_order WHERE id = ? AND kind = ?", (order_id, self.name))
        return _decode(rows[0][0]) if rows else None

    def enter_phase(self, order_id: str, progress: TaskProgress, message: str) -> None:
        """Report that a phase begins, or that the work is repeated. It is stored when this returns."""
        with self._store.transaction() as db:
            body = TaskPhase(order_id, progress.phase, self._store.clock.now(), message)
            self._spool.put_within(db, TASK_PHASE, msgspec.json.encode(body), Importance.RESULT)
            self._write_progress(db, order_id, progress)

    def send_output(self, order_id: str, first: int, lines: Sequence[OutputLine], progress: TaskProgress) -> None:
        """Report lines of output; `progress` counts them."""
        with self._store.transaction() as db:
            body = ExecOutput(order_id, first, list(lines))
            self._spool.put_within(db, EXEC_OUTPUT, msgspec.json.encode(body), Importance.EVENT)
            self._write_progress(db, order_id, progress)

    def write_progress(self, order_id: str, progress: TaskProgress) -> None:
        with self._store.transaction() as db:
            self._write_progress(db, order_id, progress)

    def end(self, ended: TaskEnded, *, is_stopped: bool = False) -> None:
        """End an order whose task has ended, and answer how. With `is_stopped`, its process was asked to end it."""
        with self._store.transaction() as db:
            if is_stopped and self._is_aborted(db, ended.order):
                self._answer(db, ended.order, "aborted", f"the task was aborted in its phase {ended.phase}")
            elif is_stopped:
                self._answer(db, ended.order, "interrupted", _broken_off(ended.phase, FROM_OUTSIDE))
            elif self._end(db, ended.order):
                self._spool.put_within(db, TASK_ENDED, msgspec.json.encode(ended), Importance.RESULT)

    def resolve(self, db: sqlite3.Connection, begun: BegunOrder, kill_reason: str) -> None:
        """Continue, repeat or answer a task whose process has ended without an answer."""
        progress = self._load_progress(db, begun.id)
        if progress is not None and progress.reboot is not None and not progress.has_rebooted:
            if self._store.clock.monotonic_s() - progress.reboot.at_s >= DEADLINE_S:
                self._answer(db, begun.id, "interrupted", NOT_REBOOTED)
            return  # the machine goes down at any moment
        phase = "pre-test" if progress is None else progress.phase
        is_repeated = self._is_idempotent(db, begun) and not kill_reason and begun.begins < MAX_BEGINS
        if begun.is_aborted:
            self._answer(db, begun.id, "aborted", f"the task was aborted in its phase {phase}")
        elif is_repeated or (progress is not None and progress.has_rebooted):
            db.execute("UPDATE queued_order SET state = 'waiting' WHERE id = ? AND state = 'begun'", (begun.id,))
        else:
            self._answer(db, begun.id, "interrupted", _broken_off(phase, kill_reason or FROM_OUTSIDE))

    def _is_idempotent(self, db: sqlite3.Connection, begun: BegunOrder) -> bool:
        try:
            order = msgspec.json.decode(self._load(db, begun.id).text, type=TaskOrder)
            return isinstance(parse_program(order.program).work, _IDEMPOTENT)
        except msgspec.MsgspecError:
            return False

    def _signed_text(self, order: SignedTaskOrder) -> str | None:
        return order.text if order.signature else None

    def _answer_begun(self, db: sqlite3.Connection, order_id: str) -> None:
        """Note when the task has begun for the first time: its deadline counts from then."""
        if self._load_progress(db, order_id) is None:
            clock = self._store.clock
            self._write_progress(db, order_id, TaskProgress(clock.now(), read_boot_id(), clock.monotonic_s()))

    def _load_progress(self, db: sqlite3.Connection, order_id: str) -> TaskProgress | None:
        ((stored,),) = db.execute("SELECT progress FROM queued_order WHERE id = ?", (order_id,)).fetchall()
        return _decode(stored)

    def _write_progress(self, db: sqlite3.Connection, order_id: str, progress: TaskProgress) -> None:
        data = msgspec.json.encode(progress)
        db.execute("UPDATE queued_order SET progress = ? WHERE id = ? AND kind = ?", (data, order_id, self.name))


def _decode(stored: bytes | None) -> TaskProgress | None:
    return None if stored is None else msgspec.json.decode(stored, type=TaskProgress)


def _broken_off(phase: Phase, why: str) -> str:
    return f"the task was broken off in its phase {phase}: {why}"
