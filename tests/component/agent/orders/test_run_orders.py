"""Ordered runs: each is begun at most once and answered, whichever process dies."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from precast.agent.orders import order_queue
from precast.agent.orders.registry import OrderRegistry
from precast.agent.orders.run_orders import RunOrders
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.wire.jobs.orders import NOT_RUN, RUN, NotRun, RunOrder
from tests.unit.agent.state.records import record


class Node:
    """A store with orders in it."""

    def __init__(self, store: LocalStore, clock: ManualClock) -> None:
        self.store, self.clock = store, clock
        self._registry = OrderRegistry(store, Spool(store, SpoolLimits()))
        self.orders = self._registry.find(RunOrders)
        self._number = 0

    def order(self, name: str, *, again: bool = False) -> bool:
        self._number += not again
        order = RunOrder(name, "noop", self.clock.now() + timedelta(minutes=5))
        return self._registry.receive(record(self._number, RUN, order)) is not None

    def answers(self) -> list[tuple[str, str]]:
        rows = self.store.read("SELECT body FROM record WHERE kind = ? ORDER BY id", (NOT_RUN,))
        answers = [msgspec.json.decode(body, type=NotRun) for (body,) in rows]
        return [(answer.order, answer.reason) for answer in answers]

    def next(self) -> str | None:
        order = self.orders.dispatch_next()
        return None if order is None else order.order


@pytest.fixture
def node(tmp_path: Path, clock: ManualClock) -> Iterator[Node]:
    store = LocalStore.open(tmp_path, lambda: "one", clock)
    yield Node(store, clock)
    store.close()


def test_orders_are_dispatched_in_their_order_and_each_is_stored_once(node: Node) -> None:
    assert node.order("a")
    assert not node.order("a", again=True)  # the same record again
    assert not node.order("a")  # the same order under another number
    assert node.order("b")
    assert [node.next(), node.next(), node.next()] == ["a", "b", None]
    assert node.answers() == []


def test_order_is_begun_once(node: Node) -> None:
    node.order("a")
    with pytest.raises(ConflictError, match="cannot begin"):
        node.orders.begin("a")  # it was not dispatched
    assert node.next() == "a"
    node.orders.begin("a")
    with pytest.raises(ConflictError):
        node.orders.begin("a")
    node.orders.end("a")
    node.orders.recover(is_running=False)
    assert (node.next(), node.answers()) == (None, [])


def test_order_that_no_process_began_is_dispatched_again_and_begun_once(node: Node) -> None:
    node.order("a")
    assert node.next() == "a"
    node.orders.recover(is_running=False)  # the daemon died, or the process did
    assert node.next() == "a"
    node.orders.begin("a")  # one of the two processes
    with pytest.raises(ConflictError):
        node.orders.begin("a")  # and the other


def test_order_whose_run_was_killed_is_answered_and_never_begun_again(node: Node) -> None:
    node.order("a")
    node.next()
    node.orders.begin("a")
    node.orders.recover(is_running=True)
    assert node.answers() == []
    node.orders.recover(is_running=False)
    node.orders.recover(is_running=False)
    assert (node.answers(), node.next()) == ([("a", "broken")], None)


def test_expired_order_is_answered_and_not_dispatched(node: Node) -> None:
    node.order("a")
    node.clock.advance(301)
    node.order("b")
    assert node.next() == "b"
    assert node.answers() == [("a", "expired")]


def test_order_is_refused_when_too_many_wait(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_queue, "MAX_WAITING", 2)
    for name in ("a", "b", "c"):
        node.order(name)
    assert node.answers() == [("c", "refused")]
    assert [node.next(), node.next(), node.next()] == ["a", "b", None]


def test_oldest_ended_orders_are_forgotten(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_queue, "REMEMBERED", 3)
    for number in range(10):
        node.order(f"o{number}")
        node.orders.give_up(f"o{number}", "a test")
    assert node.store.read("SELECT count(*) FROM queued_order") == [(4,)]
    assert not node.order("o9")
    assert len(node.answers()) == 10
