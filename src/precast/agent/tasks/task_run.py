"""The phases of one task: tests before the work, the work with its retries, and tests after it, all before one deadline.

The first phase that fails ends the task, and the answer says which one it was. What waits looks at the deadline and at the wish to stop.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from precast.agent.identity.machine import read_boot_id
from precast.agent.orders.order_check import CheckedTask
from precast.agent.orders.reboot_command import request_reboot
from precast.agent.orders.reboot_orders import DEADLINE_S, NOT_REBOOTED
from precast.agent.tasks.catalogs import CatalogAccess
from precast.agent.tasks.checks.registry import describe_test, run_test
from precast.agent.tasks.context import MAX_MESSAGE_CHARS, StepOutcome, TaskContext, failed
from precast.agent.tasks.files.whole_output import SEND_S, OutputSpool
from precast.agent.tasks.journal import TaskJournal
from precast.agent.tasks.step_process import How, Step, StepEnd, StepLimits, StepRunner
from precast.agent.tasks.works.registry import carry_out_work, describe_work
from precast.wire.jobs.orders import TaskEnded, WholeOutput
from precast.wire.jobs.programs import AnyTest, CatalogWork, ManifestWork, Phase, RebootWork

# Between two attempts of a test.
TEST_PAUSE_S = 1.0
# How long a work has to end tidily at the deadline: a command, and the current resource of a run.
COMMAND_GRACE_S = 7.0
RUN_GRACE_S = 30.0
# How often something that waits looks whether it is to stop.
_LOOK_S = 0.1
_SUCCESS = StepEnd(StepOutcome(True))


class PhaseEnd(NamedTuple):
    """How a phase ended."""

    phase: Phase
    end: StepEnd

    @property
    def is_success(self) -> bool:
        return self.end.how == "ended" and self.end.outcome.is_success


class LeftToDaemon(Exception):
    """This process has to end, and does not answer: the daemon does, or the one that starts after a reboot."""


class TaskRun:
    """One task that is granted."""

    def __init__(
        self,
        task: CheckedTask,
        access: CatalogAccess,
        journal: TaskJournal,
        runner: StepRunner,
        must_stop: Callable[[], bool],
        reboot_command: Sequence[str] = (),
    ) -> None:
        self._task, self._access, self._journal, self._runner = task, access, journal, runner
        self._must_stop = must_stop
        self._reboot_command = reboot_command
        self._deadline_s = 0.0
        self._worked = StepOutcome(True)  # how the work has ended, for the answer

    def run(self) -> None:
        """Carry the task out, or what is left of it, and report its end.

        Raises ConflictError AGENT-030 if it was not granted, LeftToDaemon.
        """
        order, program = self._task.order, self._task.program
        progress = self._journal.begin(order.output_bytes)
        self._deadline_s = time.monotonic() + progress.left_s(order.timeout_s, self._journal.store.clock)
        phases: list[Callable[[], PhaseEnd]] = []
        if not progress.has_rebooted:
            if program.before:
                phases.append(partial(self._run_tests, "pre-test", program.before))
            phases.append(self._reboot if isinstance(program.work, RebootWork) else self._run_work)
        if program.after:
            phases.append(partial(self._run_tests, "post-test", program.after))
        last = PhaseEnd("task", _SUCCESS)
        for run_phase in phases:
            last = run_phase()
            if not last.is_success:
                break
        self._report(last)

    def _run_tests(self, phase: Phase, tests: Sequence[AnyTest]) -> PhaseEnd:
        """Run the tests of a phase, until one fails."""
        self._journal.enter_phase(phase, f"{len(tests)} test{'' if len(tests) == 1 else 's'}")
        for number, test in enumerate(tests, 1):
            end = self._run_test(test)
            if end.how != "ended" or not end.outcome.is_success:
                named = f"{phase} {number} of {len(tests)} ({describe_test(test)}): {end.outcome.message}"
                outcome = msgspec.structs.replace(end.outcome, message=named[:MAX_MESSAGE_CHARS])
                return PhaseEnd(phase, StepEnd(outcome, end.how))
        return PhaseEnd(phase, _SUCCESS)

    def _run_test(self, test: AnyTest) -> StepEnd:
        """Run a test until it passes, for as long as it has."""
        until_s = time.monotonic() + test.within_s
        limits = StepLimits(self._deadline_s, test.timeout_s or None, is_test=True)
        while True:
            end = self._run_step(lambda context: run_test(context, test, self._access), limits)
            left_s = until_s - time.monotonic()
            if end.how != "ended" or end.outcome.is_success or end.outcome.is_final or left_s <= 0:
                return end
            if how := self._pause(min(TEST_PAUSE_S, left_s)):
                return StepEnd(end.outcome, how)

    def _run_work(self) -> PhaseEnd:
        """Run the work until it succeeds, or has been tried often enough."""
        program = self._task.program
        attempts = program.retries + 1
        grace_s = RUN_GRACE_S if isinstance(program.work, CatalogWork | ManifestWork) else COMMAND_GRACE_S
        limits = StepLimits(self._deadline_s, grace_s=grace_s)
        message, attempt = describe_work(program.work), 1
        while True:
            self._journal.enter_phase("task", message)
            self._access = self._access._replace(is_last_try=attempt == attempts)
            end = self._run_step(self._work_step, limits)
            self._worked = end.outcome
            if end.how != "ended" or end.outcome.is_success or end.outcome.is_final or attempt == attempts:
                return PhaseEnd("task", end)
            if how := self._pause(program.interval_s):
                return PhaseEnd("task", StepEnd(end.outcome, how))
            attempt += 1
            message = f"attempt {attempt} of {attempts}"

    def _work_step(self, context: TaskContext) -> StepOutcome:
        return carry_out_work(context, self._task.program.work, self._task.inputs, self._access)

    def _reboot(self) -> PhaseEnd:
        """Reboot the machine. This returns only if it does not go down. Raises LeftToDaemon."""
        self._journal.enter_phase("task", describe_work(self._task.program.work))
        self._journal.note_reboot(read_boot_id())
        command = self._reboot_command
        end = self._run_step(lambda context: _request_reboot(command), StepLimits(self._deadline_s))
        if end.how == "ended" and end.outcome.is_success:
            end = StepEnd(failed(NOT_REBOOTED), self._pause(DEADLINE_S) or "ended")
        if end.how == "stopped":
            raise LeftToDaemon  # the machine asks every process to end: that is no wish to abort the task
        self._worked = end.outcome
        return PhaseEnd("task", end)

    def _run_step(self, step: Step, limits: StepLimits) -> StepEnd:
        self._journal.close()
        return self._runner.run(step, limits, self._journal.add)

    def _pause(self, seconds: float) -> How | None:
        """Wait. Returns why the task has to end instead, if it has."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            if self._must_stop():
                return "stopped"
            if time.monotonic() >= self._deadline_s:
                return "overdue"
            time.sleep(min(left_s, _LOOK_S))
        return None

    def _report(self, last: PhaseEnd) -> None:
        end, worked, clock = last.end, self._worked, self._journal.store.clock
        shown = worked if last.is_success else end.outcome
        message = shown.message
        if end.how == "overdue":
            message = f"it took more than the {self._task.order.timeout_s:g} s that it has: {message}"
        broken_off = ""
        if isinstance(self._task.program.work, CatalogWork | ManifestWork):
            broken_off = self._journal.close_report("its task was ended before it was")
        whole, how = self._send_output() if end.how == "ended" else (None, end.how)
        ended = TaskEnded(
            self._task.order.order,
            clock.now(),
            last.is_success,
            last.phase,
            message[:MAX_MESSAGE_CHARS],
            shown.code,
            shown.signal,
            end.how == "overdue",
            result=worked.result,
            report=worked.report or broken_off,
            telling_line=shown.telling_line,
            whole=whole,
        )
        self._journal.end(ended, is_stopped=how == "stopped")

    def _send_output(self) -> tuple[WholeOutput | None, How]:
        """Send the output to a server if it is not all among the lines. Returns also whether that was stopped.

        What the task has left running goes on.
        """
        self._journal.flush()
        output = self._journal.cut_output
        if output is None or not self._task.program.sends_content:
            return None, "ended"
        limits = StepLimits(time.monotonic() + 2 * SEND_S, SEND_S, is_test=True)
        sent, how = self._run_step(lambda context: _send(context, output), limits)
        if not sent.result:
            return output.describe(sent.message), how
        return msgspec.json.decode(sent.result, type=WholeOutput), how


def _send(context: TaskContext, output: OutputSpool) -> StepOutcome:
    in_time = context._replace(deadline_s=time.monotonic() + SEND_S)
    return StepOutcome(True, result=msgspec.json.encode(output.send(in_time)).decode())


def _request_reboot(command: Sequence[str]) -> StepOutcome:
    failure = request_reboot(command)
    return failed(failure) if failure else StepOutcome(True)
