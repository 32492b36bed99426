"""A node of a plan as a model: a machine that carries out tasks, which fail as often as they are to before they succeed."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import msgspec

from precast.services.jobs.results import OrderReport
from precast.wire.jobs import orders as wire
from precast.wire.jobs.order_ids import parse_order_id
from precast.wire.jobs.orders import NotRun, SignedTaskOrder, TaskEnded, TaskOrder, TaskPhase
from precast.wire.jobs.programs import parse_program
from precast.wire.sessions import Record
from tests.property.jobs.model_agent import Executions, ModelAgent, StoredOrder
from tests.property.plans.service_plans import Failures


class TaskLog:
    """What nodes have done: how often each task was carried out on each node, and which have succeeded.

    A task is repeated although it has succeeded only if no server knew of that when the run was resumed: the node was lost before it could
    report it; or the success is that of an earlier round than the last, in which the node was lost again.
    """

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._begun = Counter[str]()
        self.succeeded: set[str] = set()
        self._reported: dict[str, int] = {}  # the number of the attempt
        self._known: set[str] = set()  # when the present round began

    def begin(self, title: str, *, is_always: bool) -> None:
        assert is_always or title not in self._known, f"{title} is carried out again after its success"
        self._begun[title] += 1

    def end(self, title: str) -> bool:
        """Whether it succeeds this time."""
        is_success = self._begun[title] > self._failures.get(title, 0)
        if is_success:
            self.succeeded.add(title)
        return is_success

    def note_report(self, title: str, n: int) -> None:
        """The success of an attempt has arrived at a server."""
        self._reported[title] = max(n, self._reported.get(title, 0))

    def begin_round(self, newest: Mapping[str, int]) -> None:
        """Another round begins; `newest` are the numbers of the newest attempts before."""
        self._known = {title for title, n in self._reported.items() if newest[title] == n}


class PlanAgent(ModelAgent):
    """The machine of one node."""

    def __init__(self, node: str, executions: Executions, log: TaskLog, always: set[str]) -> None:
        super().__init__(node, executions)
        self._log, self._always = log, always
        self._titles: dict[str, str] = {}  # by order

    def receive(self, record: Record, now: datetime) -> None:
        if record.kind != wire.TASK:
            super().receive(record, now)
            return
        self.state.received = record.number
        order = msgspec.json.decode(msgspec.json.decode(record.body, type=SignedTaskOrder).text, type=TaskOrder)
        assert (order.node, parse_order_id(order.order) is not None) == (self.node, True)
        self._titles[order.order] = f"{parse_program(order.program).task} on {self.node}"
        self.state.orders.setdefault(order.order, StoredOrder())

    def begin_task(self, now: datetime) -> bool:
        """Begin a task that is granted, and report it."""
        if not self.begin():
            return False
        order = self._find_begun()
        title = self._titles[order]
        self._log.begin(title, is_always=title.partition(" ")[0] in self._always)
        self.state.unsent.append(TaskPhase(order, "pre-test", now))
        return True

    def end_task(self, now: datetime) -> None:
        """End the task that was begun."""
        order = self._find_begun()
        if not order:
            return
        if self.state.orders[order].is_aborted:
            self._answer(order, NotRun(order, "aborted", "it was told to end", now))
        else:
            is_success = self._log.end(self._titles[order])
            self._answer(order, TaskEnded(order, now, is_success, "task" if is_success else "pre-test"))

    def note_sent(self, report: OrderReport) -> None:
        """A report has arrived at a server."""
        self.sent.append(report)
        if isinstance(report, TaskEnded) and report.is_success:
            parsed = parse_order_id(report.order)
            assert parsed is not None
            self._log.note_report(self._titles[report.order], parsed.n)

    def _find_begun(self) -> str:
        return next((order for order, stored in self.state.orders.items() if stored.state == "begun"), "")
