"""The engine of a run: executes the net of a catalog, applies each resource, carries refreshes, and reports in order.

With manifest ordering one resource is applied at a time, in the order of a sequential run; resources that are slow to read are checked
ahead. With graph ordering everything that the graph allows runs on threads, and the locks of providers are places of the net. Either
way the net decides which resource starts and which is skipped, and a single thread handles the end of each: it emits the reports and
passes the refreshes on.
"""

import threading
from collections.abc import Callable

from precast.agent.applying.checks import Check, ChecksAhead, check, is_worth_a_thread
from precast.agent.applying.look_only import not_evaluated, withhold_content
from precast.agent.applying.machine import Machine
from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import Plan, PlannedResource
from precast.agent.applying.refreshes import Refreshes
from precast.agent.applying.report_scrubber import ReportScrubber
from precast.agent.applying.resource_application import NO_REFRESHES, ResourceApplication
from precast.agent.applying.resource_filter import ResourceFilter
from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.applying.value_binder import ValueBinder
from precast.agent.futures.issues import NO_VALUE
from precast.agent.futures.run_values import RunValues
from precast.agent.futures.step_waits import StepWaits
from precast.agent.futures.waiting_room import WaitEnd, WaitingRoom
from precast.base.errors import PrecastError
from precast.catalog.catalog_net import build_catalog_net
from precast.catalog.futures import Need, find_needs
from precast.catalog.order import OrderPoint
from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.resources.contract import Handler
from precast.wire.reports.events import Event, Log, ResourceReport, Status

OnReport = Callable[[ResourceReport], None]
# How a promise has ended that was not fulfilled.
_ENDS = {
    Status.FAILED: "failed",
    Status.SKIPPED: "was skipped",
    Status.WAITING: "is waiting",
    Status.NOOP: "is a no-op",
}


class Engine:
    """One run of one plan."""

    def __init__(
        self,
        plan: Plan,
        machine: Machine,
        memory: ResourceMemory,
        options: RunOptions,
        on_report: OnReport,
        *,
        values: RunValues | None = None,
        binder: ValueBinder | None = None,
        is_worth_ahead: Callable[[PlannedResource], bool] = is_worth_a_thread,
        on_start: Callable[[str], None] = lambda ref: None,
    ) -> None:
        self._plan = plan
        self._machine = machine
        self._memory = memory
        self._options = options
        self._on_report = on_report
        self._values = values or RunValues()
        self._binder = binder or ValueBinder(self._values)
        self._on_start = on_start
        self._is_worth_ahead = is_worth_ahead
        self._filter = ResourceFilter(options, memory, machine.clock)
        self._points: list[OrderPoint] = list(plan.graph.points())
        self._refreshes = Refreshes(plan.graph)
        self._needs = plan.graph.needs()
        self._reports: dict[str, ResourceReport] = {}
        self._scrubber = ReportScrubber(plan.secrets)
        # Why a point of the order ended without success: the status of its dependents, and the resources that caused it.
        self._causes: dict[OrderPoint, tuple[Status, list[str]]] = {}
        self._ahead: ChecksAhead | None = None
        self.stop = threading.Event()

    def run(self) -> bool:
        """Apply every resource; False if `stop` was set, which ends the run after the current resources."""
        needs = self._find_waits()
        execution = Execution(build_catalog_net(self._plan.graph, self._locks, waits=needs), self._handle_end)
        self._begin_promises(has_waits=bool(needs))
        room = WaitingRoom(self._values, self._machine.clock)
        waits = StepWaits(room, needs, len(self._points), self._end_wait) if needs else None
        try:
            if self._options.ordering == "graph":
                from precast.running.threads import run_threads  # with manifest ordering there is one thread

                at_once = self._options.at_once
                return run_threads(execution, self._apply_step, at_once, stop=self.stop, waits=waits).is_complete
            return self._run_in_order(execution, waits)
        finally:
            room.close()
            self._values.end()

    def _run_in_order(self, execution: Execution, waits: StepWaits | None) -> bool:
        if not self._options.is_serial and not self._options.is_look_only:
            self._ahead = ChecksAhead((self._plan.resources[ref] for ref in self._sequence()), self._is_worth_ahead)
        try:
            while not self.stop.is_set():
                if waits is not None:
                    waits.finish_ended(execution)
                step = execution.start_next()
                if step is None:
                    if waits is None or not waits.await_end(execution, self.stop):
                        return not self.stop.is_set() or execution.is_over
                elif waits is None or not waits.begin_here(step):
                    execution.finish(step, self._apply_step(step))
        finally:
            self._discard_checks()
        return False

    def _find_waits(self) -> dict[str, tuple[Need, ...]]:
        """The resources that wait for values, with their needs: in a run of a job that may change them."""
        if not self._values.waits or self._options.is_noop:
            return {}
        waits: dict[str, tuple[Need, ...]] = {}
        for ref, planned in self._plan.resources.items():
            if planned.has_unknown_values and planned.problem is None and not self._is_noop(planned):
                needs = tuple(dict.fromkeys(find_needs(planned.data.parameters)))
                if needs and self._filter.skip_reason(planned) is None:
                    waits[ref] = needs
        return waits

    def _begin_promises(self, *, has_waits: bool) -> None:
        """Tell at once which promises this run will not fulfil, so that nobody waits for them."""
        keys, reasons = list(self._plan.left_out), dict(self._plan.left_out)
        for planned in self._plan.resources.values():
            if planned.resource.type == "promise":
                keys.append(_key(planned))
                reason = self._filter.skip_reason(planned) or ("it is a no-op" if self._is_noop(planned) else None)
                if reason is not None:
                    reasons[_key(planned)] = f"{planned.ref} is not applied: {reason}"
        if keys or has_waits:
            self._values.begin(keys, reasons, has_waits=has_waits)

    def _is_noop(self, planned: PlannedResource) -> bool:
        return self._options.is_noop or planned.resource.metaparameters.get("noop") in (True, "true")

    def _end_wait(self, ref: str, end: WaitEnd) -> Outcome:
        """The outcome of the wait of a resource. Without values the resource has its report already, and the net skips it."""
        if end.is_ready:
            return Outcome.SUCCESS
        planned = self._plan.resources[ref]
        if end.has_failed:
            planned.problem = NO_VALUE.error(reason=end.reason)
            self._reports[ref] = self._scrubber.scrub(planned, _failure_report(planned))
            return Outcome.FAILURE
        self._reports[ref] = _plain_report(planned, Status.WAITING, end.reason)
        return Outcome.SKIPPED

    def _sequence(self) -> list[str]:
        return [ref for ref in self._plan.sequence if self._filter.skip_reason(self._plan.resources[ref]) is None]

    def _locks(self, ref: str) -> tuple[str, ...]:
        planned = self._plan.resources.get(ref)
        return planned.handler.locks if planned is not None and planned.handler is not None else ()

    def _apply_step(self, step: int) -> Outcome:
        """Apply one resource; on a thread, with graph ordering."""
        ref = self._points[step][1]
        planned = self._plan.resources.get(ref)
        if planned is None:  # a virtual resource is exported for other nodes
            return Outcome.SUCCESS
        self._on_start(ref)
        report = self._scrubber.scrub(planned, self._apply(planned))
        if self._options.is_look_only:
            messages = [message for _, message in planned.messages]
            report = withhold_content(report, messages, planned.handler.is_named if planned.handler else lambda _: True)
        self._reports[ref] = report
        if report.status is Status.FAILED:
            return Outcome.FAILURE
        return Outcome.SKIPPED if report.status is Status.WAITING else Outcome.SUCCESS

    def _apply(self, planned: PlannedResource) -> ResourceReport:
        reason = self._filter.skip_reason(planned)
        if reason is not None:
            return _plain_report(planned, Status.SKIPPED, reason)
        if planned.has_unknown_values and planned.problem is None:
            missing = self._binder.bind(planned, self._machine)
            if missing is not None:
                return _plain_report(planned, Status.WAITING, missing)
        if planned.problem is not None or planned.handler is None:
            return _failure_report(planned)
        return self._apply_with(handler=planned.handler, planned=planned)

    def _apply_with(self, handler: Handler, planned: PlannedResource) -> ResourceReport:
        ref, pending = planned.ref, self._refreshes.pending(planned.ref)
        is_noop = self._is_noop(planned)
        if self._options.is_look_only and handler.check_needs_trust:
            return _plain_report(planned, Status.SKIPPED, not_evaluated(handler.check_needs_trust))
        if is_noop and not self._options.runs_guards and handler.runs_user_commands:
            return _plain_report(planned, Status.WAITING, "its guards are not run in no-op")
        started_s = self._machine.clock.monotonic_s()
        checked = self._check_ahead(ref) or check(handler)
        if not is_noop and planned.schedule is not None:
            self._memory.note_applied(ref, self._machine.clock.now())
        is_audited = "audit" in planned.resource.metaparameters
        is_quiet = not planned.messages and not is_audited and not handler.gives_value
        if checked.is_in_sync and pending is NO_REFRESHES and is_quiet:
            return self._report_in_sync(planned, handler, checked, is_noop, started_s)
        application = ResourceApplication(
            handler,
            is_noop=is_noop,
            memory=self._memory,
            before_change=self._before_change,
            after_change=self._after_change,
        )
        application.run(checked, pending)
        return application.report(planned.messages, self._machine.clock.monotonic_s() - started_s)

    def _report_in_sync(
        self, planned: PlannedResource, handler: Handler, checked: Check, is_noop: bool, started_s: float
    ) -> ResourceReport:
        """Report a resource that is in sync. This is the short path, which nearly all resources of a run take."""
        said = handler.take_logs()
        if not is_noop:
            self._memory.remember(planned.ref, checked.state, handler.secret_properties)
        resource = planned.resource
        logs = tuple([Log(planned.ref, level, text) for level, text in said])
        seconds = self._machine.clock.monotonic_s() - started_s
        return ResourceReport(
            planned.ref, Status.UNCHANGED, logs=logs, seconds=seconds, file=resource.file, line=resource.line
        )

    def _check_ahead(self, ref: str) -> Check | None:
        return self._ahead.pop(ref) if self._ahead is not None else None

    def _before_change(self, handler: Handler) -> None:
        self._discard_checks()

    def _discard_checks(self) -> None:
        if self._ahead is not None:
            self._ahead.discard()
            self._ahead = None

    def _after_change(self, handler: Handler) -> None:
        self._machine.snapshots.forget(handler.invalidates)

    def _handle_end(self, step: int, outcome: Outcome) -> None:
        """Report the end of a step and pass its refreshes on. One thread calls this, in order."""
        if step >= len(self._points):
            return  # a wait: its resource is reported
        point = self._points[step]
        if outcome is not Outcome.SUCCESS:
            self._note_cause(point)
        if point[0] == "do":
            report = self._reports.pop(point[1], None) or self._report_dependent(point)
            if report is not None:
                self._on_report(report)
                self._refreshes.send_from_resource(point[1], report)
                self._note_unfulfilled(point[1], report)
        else:
            self._refreshes.send_through(point, is_skipped=outcome is not Outcome.SUCCESS)

    def _note_unfulfilled(self, ref: str, report: ResourceReport) -> None:
        """Tell those who wait for a promise that this run has not fulfilled it."""
        planned = self._plan.resources[ref]
        if planned.resource.type == "promise" and report.status not in (Status.UNCHANGED, Status.CHANGED):
            causes = [event.message for event in report.events if event.status == "failure"]
            self._values.unpromise(_key(planned), f"{ref} {_ENDS[report.status]}: {report.reason or '; '.join(causes)}")

    def _note_cause(self, point: OrderPoint) -> None:
        """Note why a point ended without success: by itself, or because of those that it needs."""
        report = self._reports.get(point[1]) if point[0] == "do" else None
        if report is not None:
            self._causes[point] = (report.status, [point[1]])
            return
        causes = [self._causes[need] for need in self._needs[point] if need in self._causes]
        status = Status.FAILED if any(cause[0] is Status.FAILED for cause in causes) else Status.WAITING
        refs = dict.fromkeys(ref for cause_status, refs in causes if cause_status is status for ref in refs)
        self._causes[point] = (status, list(refs))

    def _report_dependent(self, point: OrderPoint) -> ResourceReport | None:
        """Make the report of a resource that was not applied because of those that it needs; None for a virtual one."""
        planned = self._plan.resources.get(point[1])
        if planned is None:
            return None
        status, refs = self._causes[point]
        needs = ", ".join(refs[:3]) + (f" and {len(refs) - 3} more" if len(refs) > 3 else "")
        if status is Status.FAILED:
            return _plain_report(planned, Status.SKIPPED, f"it depends on {needs}, which failed")
        return _plain_report(planned, Status.WAITING, f"it depends on {needs}, which is waiting")


def _key(planned: PlannedResource) -> str:
    return str(planned.resource.get("key", planned.resource.title))


def _plain_report(planned: PlannedResource, status: Status, reason: str) -> ResourceReport:
    resource = planned.resource
    return ResourceReport(planned.ref, status, reason=reason, file=resource.file, line=resource.line)


def _failure_report(planned: PlannedResource) -> ResourceReport:
    """The report of a resource that could not be planned."""
    problem: PrecastError | None = planned.problem
    text = problem.message if problem is not None else "it has no handler"
    hint = problem.hint if problem is not None and problem.hint else None
    resource = planned.resource
    event = Event(planned.ref, "failure", text)
    return ResourceReport(
        planned.ref, Status.FAILED, (event,), reason=text, hint=hint, file=resource.file, line=resource.line
    )
