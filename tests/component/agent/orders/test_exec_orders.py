"""Ordered commands: each is begun at most once and answered once, whichever process dies in between."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from precast.agent.orders.command_lock import command_locked, is_command_locked
from precast.agent.orders.exec_orders import BROKEN_OFF, ExecOrders
from precast.agent.orders.order_queue import MAX_WAITING
from precast.agent.orders.registry import OrderRegistry
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.wire.jobs.orders import EXEC, ExecEnded, SignedExecOrder
from tests.unit.agent.state.records import record


class Node:
    """A local store with its ordered commands."""

    def __init__(self, root: Path, clock: ManualClock) -> None:
        self.clock = clock
        self.store = LocalStore.open(root, lambda: "instance", clock)
        self.spool = Spool(self.store, SpoolLimits())
        self._registry = OrderRegistry(self.store, self.spool)
        self.orders = self._registry.find(ExecOrders)
        self._number = 0

    def order(self, name: str) -> bool:
        self._number += 1
        expires_at = self.clock.now() + timedelta(minutes=5)
        order = SignedExecOrder(name, expires_at, 60.0, '{"argv":["uptime"]}', "")
        return self._registry.receive(record(self._number, EXEC, order)) is not None

    def sent(self) -> list[tuple[str, Any]]:
        return [(sent.kind, msgspec.json.decode(sent.body)) for sent in self.spool.next_batch(0, 100, 10**6)]


@pytest.fixture
def node(tmp_path: Path, clock: ManualClock) -> Iterator[Node]:
    made = Node(tmp_path, clock)
    yield made
    made.store.close()


def test_command_is_begun_once_and_its_end_is_answered_once(node: Node) -> None:
    assert node.order("one")
    assert not node.order("one")
    dispatched = node.orders.dispatch_next()
    assert dispatched is not None
    assert node.orders.dispatch_next() is None
    assert node.orders.find("one") == node.orders.begin("one") == dispatched
    assert node.orders.find("two") is None
    with pytest.raises(ConflictError) as caught:
        node.orders.begin("one")
    assert caught.value.code == "AGENT-030"
    ended = ExecEnded("one", node.clock.now(), code=0)
    node.orders.end(ended)
    node.orders.end(ended)
    assert [kind for kind, _ in node.sent()] == ["exec-began", "exec-ended"]


def test_expired_command_is_answered_and_never_begun(node: Node) -> None:
    node.order("late")
    node.clock.advance(301)
    assert node.orders.dispatch_next() is None
    ((kind, body),) = node.sent()
    assert (kind, body["reason"], body["order"]) == ("not-run", "expired", "late")
    with pytest.raises(ConflictError):
        node.orders.begin("late")


def test_refused_command_is_answered_once(node: Node) -> None:
    node.order("one")
    node.orders.dispatch_next()
    node.orders.refuse("one", "not here")
    node.orders.give_up("one", "again")
    ((_, body),) = node.sent()
    assert (body["reason"], body["message"]) == ("refused", "not here")


def test_command_whose_process_dies_before_it_begins_is_dispatched_again(node: Node) -> None:
    node.order("one")
    node.orders.dispatch_next()
    node.orders.recover(lambda order: False)
    again = node.orders.dispatch_next()
    assert again is not None
    assert node.sent() == []


def test_command_whose_process_dies_is_answered_and_not_repeated(node: Node) -> None:
    node.order("one")
    node.orders.dispatch_next()
    node.orders.begin("one")
    node.orders.recover(lambda order: True)
    assert node.orders.dispatch_next() is None
    node.orders.recover(lambda order: False)
    assert node.orders.dispatch_next() is None
    assert node.sent()[-1][1]["message"] == BROKEN_OFF


def test_command_is_refused_when_too_many_wait(node: Node) -> None:
    for number in range(MAX_WAITING + 1):
        node.order(f"n{number}")
    ((_, body),) = node.sent()
    assert (body["order"], body["reason"]) == (f"n{MAX_WAITING}", "refused")


def test_lock_shows_whether_a_command_is_running(tmp_path: Path) -> None:
    assert not is_command_locked(tmp_path, "one")
    with command_locked(tmp_path, "one"):
        assert is_command_locked(tmp_path, "one")
        assert not is_command_locked(tmp_path, "two")
    assert not is_command_locked(tmp_path, "one")
