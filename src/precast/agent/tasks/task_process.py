"""The process of one ordered task, from its lease to its answer.

Nothing begins before the order was verified and every catalog that it names is on this node. From then on, whatever happens is answered:
by this process, or if it dies, by the daemon.
"""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from precast.agent import issues
from precast.agent.applying.lease import lease_held
from precast.agent.applying.run import describe_holder
from precast.agent.applying.value_binder import CallFunction
from precast.agent.orders.order_check import CheckedTask, check_task, needed_catalogs
from precast.agent.orders.reboot_command import NO_REBOOT, find_reboot_command
from precast.agent.orders.task_orders import PREPARE_S
from precast.agent.orders.work_process import WAIT_S
from precast.agent.settings import AgentSettings
from precast.agent.state.life import read_life
from precast.agent.state.paths import STATE
from precast.agent.state.wakeup import wake_daemon
from precast.agent.tasks.catalogs import CatalogAccess, prepare_catalogs
from precast.agent.tasks.descendants import adopt_orphans
from precast.agent.tasks.journal import TaskJournal
from precast.agent.tasks.step_process import StepLimits, StepRunner
from precast.agent.tasks.task_run import LeftToDaemon, TaskRun
from precast.base.errors import PrecastError
from precast.wire.jobs.programs import RebootWork


def carry_out_task(root: Path, settings: AgentSettings, order_id: str, call: CallFunction | None = None) -> None:
    """Carry out a task that a server has granted, and answer its order. `call` evaluates Deferred values.

    Raises ConflictError AGENT-030 if it was not granted, APPLY-001 if another run holds the lease for long, DeniedError AGENT-032 if the
    node refuses it.
    """
    life, must_stop = read_life(root), _catch_stop()
    adopt_orphans()
    runner = StepRunner(order_id, root, settings, life, must_stop)
    journal = TaskJournal(root, settings, life, order_id)
    try:
        with ExitStack() as held:
            held.callback(journal.close)
            if journal.orders.find(order_id) is None:
                raise issues.NO_COMMAND.error(order=order_id)
            holder = f"the task {order_id}, {describe_holder(journal.store.clock)}"
            lease = held.enter_context(lease_held(journal.store, holder, WAIT_S))
            try:
                task, reboot_command = _check(root, settings, order_id, journal, runner)
            except PrecastError as error:
                journal.orders.refuse(order_id, error.message)
                raise
            access = CatalogAccess(task.order.catalogs, lease.token, call)
            TaskRun(task, access, journal, runner, must_stop, reboot_command).run()
    except LeftToDaemon:
        return
    finally:
        wake_daemon(root / STATE)


def _check(
    root: Path, settings: AgentSettings, order_id: str, journal: TaskJournal, runner: StepRunner
) -> tuple[CheckedTask, list[str]]:
    """Verify the order, and have what it needs. Returns the task, and the command that reboots the machine.

    Raises DeniedError AGENT-032, LeftToDaemon.
    """
    received, progress = journal.orders.find(order_id), journal.orders.read_progress(order_id)
    assert received is not None, "the caller has found it"
    now = journal.store.clock.now()
    task = check_task(root, order_id, received, now, allows_exec=settings.allow_exec, has_begun=progress is not None)
    command = find_reboot_command(root, settings.reboot_command) or []
    if isinstance(task.program.work, RebootWork) and not command:
        raise issues.TASK_REFUSED.error(order=order_id, reason=NO_REBOOT)
    if any(True for _ in needed_catalogs(task.program)):
        journal.close()
        limits = StepLimits(time.monotonic() + PREPARE_S)
        prepared = runner.run(lambda context: prepare_catalogs(context, task), limits, lambda lines: None)
        if prepared.how == "stopped":
            raise LeftToDaemon  # it has not begun, so the daemon has answered its abort
        if not prepared.outcome.is_success:
            raise issues.TASK_REFUSED.error(order=order_id, reason=prepared.outcome.message)
    return task, command


def _catch_stop() -> Callable[[], bool]:
    """Let SIGTERM end the task instead of this process. Returns whether it was received."""
    received: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    return lambda: bool(received)
