"""Ordered commands: each is begun at most once and answered once, whoever dies in between."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from precast.agent.orders.commands import BROKEN, MAX_WAITING, ExecOrders, holding, is_held
from precast.agent.state.spool import Limits, Spool
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.wire.jobs.orders import ExecEnded, ExecOrder
from tests.unit.agent.state.records import record


class Node:
    """A local store with its ordered commands."""

    def __init__(self, root: Path, clock: ManualClock) -> None:
        self.clock = clock
        self.store = LocalStore.open(root, lambda: "instance", clock)
        self.spool = Spool(self.store, Limits())
        self.orders = ExecOrders(self.store, self.spool)
        self._number = 0

    def order(self, name: str) -> bool:
        self._number += 1
        expires_at = self.clock.now() + timedelta(minutes=5)
        return self.orders.take(record(self._number), ExecOrder(name, ["uptime"], expires_at, 60.0, 1000))

    def told(self) -> list[tuple[str, Any]]:
        return [(one.kind, msgspec.json.decode(one.body)) for one in self.spool.batch(0, 100, 10**6)]


@pytest.fixture
def node(tmp_path: Path, clock: ManualClock) -> Iterator[Node]:
    made = Node(tmp_path, clock)
    yield made
    made.store.close()


def test_command_is_begun_once_and_its_end_told_once(node: Node) -> None:
    assert node.order("one")
    assert not node.order("one")
    handed = node.orders.next()
    assert handed is not None
    assert node.orders.next() is None
    assert node.orders.begin("one").argv == ["uptime"]
    with pytest.raises(ConflictError) as caught:
        node.orders.begin("one")
    assert caught.value.code == "AGENT-030"
    ended = ExecEnded("one", node.clock.now(), code=0)
    node.orders.end(ended)
    node.orders.end(ended)
    assert [kind for kind, _ in node.told()] == ["exec-began", "exec-ended"]


def test_what_has_expired_is_answered_and_never_begun(node: Node) -> None:
    node.order("late")
    node.clock.advance(301)
    assert node.orders.next() is None
    ((kind, body),) = node.told()
    assert (kind, body["reason"], body["order"]) == ("not-run", "expired", "late")
    with pytest.raises(ConflictError):
        node.orders.begin("late")


def test_what_is_refused_is_answered(node: Node) -> None:
    node.order("one")
    node.orders.next()
    node.orders.refuse("one", "not here")
    node.orders.give_up("one", "again")
    ((_, body),) = node.told()
    assert (body["reason"], body["message"]) == ("refused", "not here")


def test_process_that_dies_before_it_begins_is_followed_by_another(node: Node) -> None:
    node.order("one")
    node.orders.next()
    node.orders.settle(lambda order: False)
    again = node.orders.next()
    assert again is not None
    assert node.told() == []


def test_process_that_dies_after_it_has_begun_is_told_and_not_repeated(node: Node) -> None:
    node.order("one")
    node.orders.next()
    node.orders.begin("one")
    node.orders.settle(lambda order: True)
    assert node.orders.next() is None
    node.orders.settle(lambda order: False)
    assert node.orders.next() is None
    assert node.told()[-1][1]["message"] == BROKEN


def test_too_many_that_wait_are_refused(node: Node) -> None:
    for number in range(MAX_WAITING + 1):
        node.order(f"n{number}")
    ((_, body),) = node.told()
    assert (body["order"], body["reason"]) == (f"n{MAX_WAITING}", "refused")


def test_lock_tells_whether_a_command_runs(tmp_path: Path) -> None:
    assert not is_held(tmp_path, "one")
    with holding(tmp_path, "one"):
        assert is_held(tmp_path, "one")
        assert not is_held(tmp_path, "two")
    assert not is_held(tmp_path, "one")
