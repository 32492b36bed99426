"""Orders for runs: each is begun at most once and answered, whoever dies when."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from precast.agent.orders import runs as subject
from precast.agent.orders.runs import Orders
from precast.agent.state.spool import Limits, Spool
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.wire.jobs.orders import NOT_RUN, NotRun, RunOrder
from tests.unit.agent.state.records import record


class Node:
    """A store with orders in it."""

    def __init__(self, store: LocalStore, clock: ManualClock) -> None:
        self.store, self.clock = store, clock
        self.orders = Orders(store, Spool(store, Limits()))
        self._number = 0

    def order(self, name: str, *, again: bool = False) -> bool:
        self._number += not again
        return self.orders.take(record(self._number), RunOrder(name, "noop", self.clock.now() + timedelta(minutes=5)))

    def answers(self) -> list[tuple[str, str]]:
        rows = self.store.read("SELECT body FROM record WHERE kind = ? ORDER BY id", (NOT_RUN,))
        found = [msgspec.json.decode(body, type=NotRun) for (body,) in rows]
        return [(one.order, one.reason) for one in found]

    def next(self) -> str | None:
        order = self.orders.next()
        return None if order is None else order.order


@pytest.fixture
def node(tmp_path: Path, clock: ManualClock) -> Iterator[Node]:
    store = LocalStore.open(tmp_path, lambda: "one", clock)
    yield Node(store, clock)
    store.close()


def test_orders_are_followed_in_their_order_and_each_is_taken_once(node: Node) -> None:
    assert node.order("a")
    assert not node.order("a", again=True)  # the record came again
    assert not node.order("a")  # the same order under another number
    assert node.order("b")
    assert [node.next(), node.next(), node.next()] == ["a", "b", None]
    assert node.answers() == []


def test_order_is_begun_once(node: Node) -> None:
    node.order("a")
    with pytest.raises(ConflictError, match="not one to begin with"):
        node.orders.begin("a")  # nobody was told to
    assert node.next() == "a"
    node.orders.begin("a")
    with pytest.raises(ConflictError):
        node.orders.begin("a")
    node.orders.end("a")
    node.orders.settle(is_running=False)
    assert (node.next(), node.answers()) == (None, [])


def test_order_that_nobody_began_is_handed_over_again_and_then_only_one_begins(node: Node) -> None:
    node.order("a")
    assert node.next() == "a"
    node.orders.settle(is_running=False)  # the daemon died, or the process did
    assert node.next() == "a"
    node.orders.begin("a")  # one of the two processes
    with pytest.raises(ConflictError):
        node.orders.begin("a")  # and the other


def test_order_whose_run_was_killed_is_answered_and_never_begun_again(node: Node) -> None:
    node.order("a")
    node.next()
    node.orders.begin("a")
    node.orders.settle(is_running=True)
    assert node.answers() == []
    node.orders.settle(is_running=False)
    node.orders.settle(is_running=False)
    assert (node.answers(), node.next()) == ([("a", "broken")], None)


def test_order_that_has_expired_is_answered_and_not_followed(node: Node) -> None:
    node.order("a")
    node.clock.advance(301)
    node.order("b")
    assert node.next() == "b"
    assert node.answers() == [("a", "expired")]


def test_one_order_too_many_is_refused_and_says_so(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MAX_WAITING", 2)
    for name in ("a", "b", "c"):
        node.order(name)
    assert node.answers() == [("c", "refused")]
    assert [node.next(), node.next(), node.next()] == ["a", "b", None]


def test_orders_that_have_ended_are_forgotten_in_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "REMEMBERED", 3)
    for number in range(10):
        node.order(f"o{number}")
        node.orders.give_up(f"o{number}", "a test")
    assert node.store.read("SELECT count(*) FROM run_order") == [(4,)]
    assert not node.order("o9")
    assert len(node.answers()) == 10
