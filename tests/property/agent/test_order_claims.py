"""The queue of orders under random records, restarts and processes: nothing begins without a grant of its latest claim, and everything that
was begun is answered once."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from precast.agent.orders.exec_orders import ExecOrders
from precast.agent.orders.order_queue import MAX_BEGINS
from precast.agent.orders.run_orders import RunOrders
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.wire.jobs.orders import EXEC, RUN, ExecEnded
from tests.component.agent.orders.node import Node

ORDERS = {"r1": RUN, "r2": RUN, "c1": EXEC, "c2": EXEC}
names = st.sampled_from(sorted(ORDERS))


class OrderQueueMachine(RuleBasedStateMachine):
    """A node and what a server knows: which claims it has granted, and how often each order was begun and answered."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.clock = ManualClock()
        self.node = Node(self.directory, self.clock)
        self.granted: set[tuple[str, int]] = set()
        self.begins: dict[str, int] = {}
        self.reports: list[str] = []  # orders that the report of a run has answered

    def teardown(self) -> None:
        self.node.close()
        shutil.rmtree(self.directory)

    def known(self, order: str) -> str:
        rows = self.node.store.read("SELECT state FROM queued_order WHERE id = ?", (order,))
        return str(rows[0][0]) if rows else ""

    @rule(order=names)
    def send_order(self, order: str) -> None:
        is_new = not self.known(order)
        assert self.node.order(order, ORDERS[order]) == is_new

    @rule()
    def claim(self) -> None:
        self.node.claims.claim_waiting()

    @rule(order=names, claim=st.integers(1, 4), is_granted=st.booleans())
    def send_grant(self, order: str, claim: int, is_granted: bool) -> None:
        is_latest = self.known(order) == "claimed" and self.node.claim_of(order) == claim
        assert self.node.grant(order, claim, is_granted=is_granted) == is_latest
        if is_latest:
            assert self.known(order) == ("granted" if is_granted else "ended")
            if is_granted:
                self.granted.add((order, claim))

    @rule(order=names)
    def begin(self, order: str) -> None:
        may_begin = self.known(order) == "granted"
        try:
            self.node.registry.queue(ORDERS[order]).begin(order)
        except PrecastError:
            assert not may_begin
            return
        assert may_begin
        assert (order, self.node.claim_of(order)) in self.granted
        self.begins[order] = self.begins.get(order, 0) + 1

    @precondition(lambda self: any(self.known(order) == "begun" for order in ORDERS))
    @rule(is_complete=st.booleans(), order=names)
    def end(self, is_complete: bool, order: str) -> None:
        if self.known(order) != "begun":
            return
        if ORDERS[order] == EXEC:
            ended = ExecEnded(order, self.clock.now(), code=0)
            self.node.registry.find(ExecOrders).end(ended, is_stopped=not is_complete)
        else:
            before = len(self.node.answers())
            with self.node.store.transaction() as db:
                self.node.registry.find(RunOrders).end(db, order, is_complete=is_complete)
            if len(self.node.answers()) == before:
                self.reports.append(order)
        assert self.known(order) == "ended"

    @rule(order=names)
    def abort(self, order: str) -> None:
        before = self.known(order)
        self.node.abort(order)
        assert self.known(order) == ("begun" if before == "begun" else "ended" if before else "")

    @rule()
    def restart(self) -> None:
        self.node.restart()
        assert all(self.known(order) in ("", "waiting", "ended") for order in ORDERS)

    @rule()
    def reconnect(self) -> None:
        self.node.claims.requeue()

    @invariant()
    def begins_are_bounded(self) -> None:
        for order, count in self.begins.items():
            assert count <= (MAX_BEGINS if ORDERS[order] == RUN else 1)

    @invariant()
    def answers_are_given_once_and_only_at_the_end(self) -> None:
        ended = [ended.order for ended in self.node.sent("exec-ended", ExecEnded)]
        answered = [order for order, _ in self.node.answers()] + ended + self.reports
        assert len(answered) == len(set(answered))
        for order in ORDERS:
            state = self.known(order)
            assert order not in answered or state == "ended"
            # A server that refuses a claim needs no answer; an order that was begun and has ended is answered.
            if state == "ended" and order not in answered:
                assert order not in self.begins or ORDERS[order] == RUN


TestOrderQueue = OrderQueueMachine.TestCase
TestOrderQueue.settings = settings(max_examples=30, stateful_step_count=30)
