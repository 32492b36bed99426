"""The run: walks the net of a catalog, gives each resource its turn, carries refreshes, and reports in order.

With manifest ordering one resource has its turn at a time, in the order of a sequential run; what is slow to read is checked ahead of
it. With graph ordering all that the graph allows runs on threads, and providers hold their locks as places of the net. Either way the
net decides who starts and who is skipped, and one thread hears of every end: that is where reports come out and refreshes go on.
"""

import threading
from collections.abc import Callable

from precast.agent.applying.binding import Binder
from precast.agent.applying.checks import Ahead, Check, check, is_worth_a_thread
from precast.agent.applying.exclusion import Exclusion
from precast.agent.applying.machine import Machine
from precast.agent.applying.memory import Memory
from precast.agent.applying.options import Options
from precast.agent.applying.planning import Plan, Planned
from precast.agent.applying.refreshes import Refreshes
from precast.agent.applying.turn import NOTHING, Turn
from precast.base.errors import PrecastError
from precast.catalog.order import Moment
from precast.catalog.steps import net_of
from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.resources.contract import Handler
from precast.wire.reports.events import Event, Log, ResourceReport, Status

Tell = Callable[[ResourceReport], None]


class Engine:
    """One run of one plan."""

    def __init__(
        self,
        plan: Plan,
        machine: Machine,
        memory: Memory,
        options: Options,
        tell: Tell,
        *,
        binder: Binder | None = None,
        is_worth_ahead: Callable[[Planned], bool] = is_worth_a_thread,
        starts: Callable[[str], None] = lambda ref: None,
    ) -> None:
        self._plan = plan
        self._machine = machine
        self._memory = memory
        self._options = options
        self._tell = tell
        self._binder = binder or Binder(memory)
        self._starts = starts
        self._is_worth_ahead = is_worth_ahead
        self._exclusion = Exclusion(options, memory, machine.clock)
        self._moments: list[Moment] = list(plan.graph.moments())
        self._refreshes = Refreshes(plan.graph)
        self._needs = plan.graph.needs()
        self._reports: dict[str, ResourceReport] = {}
        # Why a moment ended without success: the status of those behind it, and who is to blame.
        self._blame: dict[Moment, tuple[Status, list[str]]] = {}
        self._ahead: Ahead | None = None
        self.stop = threading.Event()

    def run(self) -> bool:
        """Give every resource its turn; whether all had it. Setting `stop` ends it after those whose turn it is."""
        execution = Execution(net_of(self._plan.graph, self._locks), self._ended)
        if self._options.ordering == "graph":
            from precast.running.threads import run_threads  # with manifest ordering there is one thread

            return run_threads(execution, self._work, self._options.at_once, stop=self.stop).is_complete
        if not self._options.is_serial:
            self._ahead = Ahead((self._plan.resources[ref] for ref in self._sequence()), self._is_worth_ahead)
        try:
            while not self.stop.is_set():
                step = execution.start_next()
                if step is None:
                    return True
                execution.finish(step, self._work(step))
        finally:
            self._discard()
        return False

    def _sequence(self) -> list[str]:
        return [ref for ref in self._plan.sequence if self._exclusion.reason(self._plan.resources[ref]) is None]

    def _locks(self, ref: str) -> tuple[str, ...]:
        planned = self._plan.resources.get(ref)
        return planned.handler.locks if planned is not None and planned.handler is not None else ()

    def _work(self, step: int) -> Outcome:
        """The turn of one resource. On a thread, with graph ordering."""
        ref = self._moments[step][1]
        planned = self._plan.resources.get(ref)
        if planned is None:  # exported: it is for others
            return Outcome.SUCCESS
        self._starts(ref)
        report = self._reports[ref] = self._report(planned)
        if report.status is Status.FAILED:
            return Outcome.FAILURE
        return Outcome.SKIPPED if report.status is Status.WAITING else Outcome.SUCCESS

    def _report(self, planned: Planned) -> ResourceReport:
        reason = self._exclusion.reason(planned)
        if reason is not None:
            return _plain_report(planned, Status.SKIPPED, reason)
        if planned.is_late and planned.problem is None:
            missing = self._binder.bind(planned, self._machine)
            if missing is not None:
                return _plain_report(planned, Status.WAITING, missing)
        if planned.problem is not None or planned.handler is None:
            return _failed(planned)
        return self._turn(planned, planned.handler)

    def _turn(self, planned: Planned, handler: Handler) -> ResourceReport:
        ref, pending = planned.ref, self._refreshes.pending(planned.ref)
        is_noop = self._options.is_noop or planned.wanted.metaparameters.get("noop") in (True, "true")
        if is_noop and not self._options.runs_guards and handler.runs_user_commands:
            return _plain_report(planned, Status.WAITING, "its guards are not run in no-op")
        started_s = self._machine.clock.monotonic_s()
        made = self._checked(ref) or check(handler)
        if not is_noop and planned.schedule is not None:
            self._memory.note_applied(ref, self._machine.clock.now())
        if made.is_quiet and pending is NOTHING and not planned.said and "audit" not in planned.wanted.metaparameters:
            return self._unchanged(planned, handler, made, is_noop, started_s)
        turn = Turn(
            handler,
            is_noop=is_noop,
            memory=self._memory,
            before_change=self._before_change,
            after_change=self._after_change,
        )
        turn.take(made, pending)
        return turn.report(planned.said, self._machine.clock.monotonic_s() - started_s)

    def _unchanged(
        self, planned: Planned, handler: Handler, made: Check, is_noop: bool, started_s: float
    ) -> ResourceReport:
        """The shortest turn, and nearly always the only one: all is as wanted."""
        said = handler.said()
        if not is_noop:
            self._memory.keep(planned.ref, made.state, planned.wanted.secrets)
        wanted = planned.wanted
        logs = tuple([Log(planned.ref, level, text) for level, text in said])
        seconds = self._machine.clock.monotonic_s() - started_s
        return ResourceReport(
            planned.ref, Status.UNCHANGED, logs=logs, seconds=seconds, file=wanted.file, line=wanted.line
        )

    def _checked(self, ref: str) -> Check | None:
        return self._ahead.take(ref) if self._ahead is not None else None

    def _before_change(self, handler: Handler) -> None:
        self._discard()

    def _discard(self) -> None:
        if self._ahead is not None:
            self._ahead.discard()
            self._ahead = None

    def _after_change(self, handler: Handler) -> None:
        self._machine.snapshots.forget(handler.invalidates)

    def _ended(self, step: int, outcome: Outcome) -> None:
        """One thread hears of every end, in order."""
        moment = self._moments[step]
        if outcome is not Outcome.SUCCESS:
            self._spread(moment)
        if moment[0] == "do":
            report = self._reports.pop(moment[1], None) or self._skipped(moment)
            if report is not None:
                self._tell(report)
                self._refreshes.of_resource(moment[1], report)
        else:
            self._refreshes.through(moment, is_skipped=outcome is not Outcome.SUCCESS)

    def _spread(self, moment: Moment) -> None:
        """Note who is to blame for what does not happen: itself, or those it needs."""
        report = self._reports.get(moment[1]) if moment[0] == "do" else None
        if report is not None:
            self._blame[moment] = (report.status, [moment[1]])
            return
        found = [self._blame[need] for need in self._needs[moment] if need in self._blame]
        status = Status.FAILED if any(each[0] is Status.FAILED for each in found) else Status.WAITING
        refs = dict.fromkeys(ref for each, refs in found if each is status for ref in refs)
        self._blame[moment] = (status, list(refs))

    def _skipped(self, moment: Moment) -> ResourceReport | None:
        planned = self._plan.resources.get(moment[1])
        if planned is None:
            return None
        status, refs = self._blame[moment]
        who = ", ".join(refs[:3]) + (f" and {len(refs) - 3} more" if len(refs) > 3 else "")
        if status is Status.FAILED:
            return _plain_report(planned, Status.SKIPPED, f"it depends on {who}, which failed")
        return _plain_report(planned, Status.WAITING, f"it depends on {who}, which waits")


def _plain_report(planned: Planned, status: Status, reason: str) -> ResourceReport:
    wanted = planned.wanted
    return ResourceReport(planned.ref, status, reason=reason, file=wanted.file, line=wanted.line)


def _failed(planned: Planned) -> ResourceReport:
    """A resource that could not be planned."""
    problem: PrecastError | None = planned.problem
    text = problem.message if problem is not None else "it has no handler"
    hint = problem.hint if problem is not None and problem.hint else None
    wanted = planned.wanted
    event = Event(planned.ref, "failure", text)
    return ResourceReport(
        planned.ref, Status.FAILED, (event,), reason=text, hint=hint, file=wanted.file, line=wanted.line
    )
