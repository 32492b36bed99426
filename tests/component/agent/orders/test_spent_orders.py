"""A signed order is carried out once, however often and however late it is sent again."""

from datetime import datetime, timedelta

import msgspec
import pytest

from precast.agent.orders import order_queue
from precast.agent.orders.exec_orders import ExecOrders
from precast.agent.orders.order_queue import OrderQueue
from precast.agent.orders.run_orders import RunOrders
from precast.agent.orders.task_orders import TaskOrders
from precast.wire.jobs.orders import EXEC, TASK, ExecOrder, SignedExecOrder, SignedTaskOrder, TaskOrder
from precast.wire.jobs.programs import NoWork, ShellWork, TaskProgram, program_text
from precast.wire.jobs.signed_orders import order_text, task_text
from tests.component.agent.orders.node import Node

VALID = timedelta(days=1)
Signed = SignedExecOrder | SignedTaskOrder


def command(now: datetime) -> SignedExecOrder:
    order = ExecOrder("web1", "one", ["true"], now, now + VALID, 60.0, 1_000)
    # The time in the envelope is not signed.
    return SignedExecOrder("one", now, 60.0, order_text(order), "c2lnbmVk")


def task(now: datetime, *, is_signed: bool = True) -> SignedTaskOrder:
    work = ShellWork("true") if is_signed else NoWork()
    order = TaskOrder("web1", "one", program_text(TaskProgram("t", work)), now, now + VALID, 60.0, 1_000)
    return SignedTaskOrder("one", now, 60.0, task_text(order), "c2lnbmVk" if is_signed else "")


def begin_and_forget(node: Node, kind: str, body: Signed) -> None:
    """Carry an order out, and let so many others follow that it is no longer remembered among them."""
    orders: OrderQueue[SignedExecOrder] | OrderQueue[SignedTaskOrder]
    orders = node.registry.find(ExecOrders) if kind == EXEC else node.registry.find(TaskOrders)
    assert node.receive(kind, body) is not None
    node.claims.claim_waiting()
    node.grant("one")
    orders.begin("one")
    orders.give_up("one", "a test")
    for number in range(10):
        node.order(f"o{number}")
        node.registry.find(RunOrders).give_up(f"o{number}", "a test")
    assert orders.find("one") is None


@pytest.fixture(autouse=True)
def short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_queue, "REMEMBERED", 3)


@pytest.mark.parametrize(("kind", "make"), [(EXEC, command), (TASK, task)])
def test_signed_order_that_was_begun_is_not_taken_again_while_it_is_valid(node: Node, kind: str, make: object) -> None:
    assert callable(make)
    body = make(node.clock.now())
    begin_and_forget(node, kind, body)
    for _ in range(2):
        assert node.receive(kind, msgspec.structs.replace(body, why="again")) is None
        node.restart()
    assert node.store.read("SELECT count(*) FROM queued_order WHERE id = 'one'") == [(0,)]


def test_orders_that_have_expired_are_forgotten_when_another_one_begins(node: Node) -> None:
    begin_and_forget(node, EXEC, command(node.clock.now()))
    node.clock.advance(VALID.total_seconds() + 1)
    later = msgspec.structs.replace(command(node.clock.now()), order="two")
    node.receive(EXEC, later)
    node.claims.claim_waiting()
    node.grant("two")
    node.registry.find(ExecOrders).begin("two")
    assert node.store.read("SELECT id FROM spent_order") == [("two",)]


def test_order_without_a_signature_is_remembered_among_the_newest_only(node: Node) -> None:
    body = task(node.clock.now(), is_signed=False)
    begin_and_forget(node, TASK, body)
    assert node.store.read("SELECT count(*) FROM spent_order") == [(0,)]
    assert node.receive(TASK, body) is not None
