"""Claims and grants: an order begins only on a grant of its latest claim, whatever is repeated, late or restarted in between."""

import pytest

from precast.agent.orders import order_queue
from precast.agent.orders.exec_orders import ExecOrders
from precast.agent.orders.run_orders import RunOrders
from precast.base.errors import ConflictError
from precast.wire.jobs.orders import CLAIM, EXEC, GRANT, REFRESH_FACTS, RUN, Claim, Grant
from tests.component.agent.orders.node import Node
from tests.unit.agent.state.records import record


def test_all_waiting_orders_are_claimed_in_the_order_of_arrival_once(node: Node) -> None:
    for order, kind in (("a", RUN), ("b", EXEC), ("c", REFRESH_FACTS)):
        assert node.order(order, kind)
    assert node.claims.claim_waiting()
    assert not node.claims.claim_waiting()
    assert node.claimed() == [("a", 1), ("b", 1), ("c", 1)]
    (claim, *_) = node.sent(CLAIM, Claim)
    assert (claim.instance, bool(claim.boot_id)) == ("instance", True)
    assert node.next() is None


def test_orders_begin_in_the_order_of_their_grants(node: Node) -> None:
    for order, kind in (("a", RUN), ("b", EXEC), ("c", RUN)):
        node.order(order, kind)
    node.claims.claim_waiting()
    # A command does not wait behind an order that is not granted.
    node.grant("b")
    assert node.next() == "b"
    node.grant("a")
    node.registry.find(ExecOrders).begin("b")
    assert node.next() == "a"


def test_same_order_grant_and_record_twice_change_nothing(node: Node) -> None:
    assert node.order("a")
    assert not node.order("a")
    node.claims.claim_waiting()
    first = record(node.store.session_state().received + 1, GRANT, Grant("a", 1, "instance", True))
    assert node.registry.receive(first) is not None
    assert node.registry.receive(first) is None
    assert not node.grant("a", 1)
    node.registry.find(RunOrders).begin("a")
    assert not node.grant("a", 1)
    assert (node.state("a"), node.claimed()) == ("begun", [("a", 1)])


@pytest.mark.parametrize("is_granted", [True, False])
def test_grant_that_does_not_answer_the_latest_claim_is_ignored(node: Node, is_granted: bool) -> None:
    node.order("a")
    assert not node.grant("a", 1, is_granted=is_granted)  # not claimed
    node.claims.claim_waiting()
    node.claims.requeue()
    assert not node.grant("a", 1, is_granted=is_granted)  # to be claimed again
    node.claims.claim_waiting()
    for claim in (1, 3):
        assert not node.grant("a", claim, is_granted=is_granted)
    assert not node.grant("unknown", 1, is_granted=is_granted)
    assert (node.state("a"), node.claimed()) == ("claimed", [("a", 1), ("a", 2)])
    assert node.grant("a", 2)
    assert node.next() == "a"


def test_grant_of_a_machine_with_the_same_certificate_is_ignored(node: Node) -> None:
    node.order("a")
    node.claims.claim_waiting()
    for is_granted in (True, False):
        assert not node.receive(GRANT, Grant("a", 1, "another-machine", is_granted))
    assert (node.state("a"), node.next()) == ("claimed", None)


def test_order_whose_claim_is_refused_ends_without_an_answer(node: Node) -> None:
    node.order("a")
    node.claims.claim_waiting()
    assert node.grant("a", is_granted=False)
    assert (node.state("a"), node.next(), node.kinds_sent()) == ("ended", None, [])
    assert not node.order("a")
    with pytest.raises(ConflictError):
        node.registry.find(RunOrders).begin("a")


@pytest.mark.parametrize("state", ["waiting", "claimed", "granted"])
def test_order_that_was_not_begun_is_claimed_again_after_a_restart(node: Node, state: str) -> None:
    node.order("a")
    if state != "waiting":
        node.claims.claim_waiting()
    if state == "granted":
        node.grant("a")
    node.restart()
    assert (node.state("a"), node.next()) == ("waiting", None)
    with pytest.raises(ConflictError):
        node.registry.find(RunOrders).begin("a")  # a process that an earlier daemon has started
    node.claims.claim_waiting()
    assert node.claimed()[-1] == ("a", 1 if state == "waiting" else 2)
    node.grant("a")
    node.registry.find(RunOrders).begin("a")
    assert node.answers() == []


def test_restart_leaves_ended_orders_alone(node: Node) -> None:
    node.let_begin("a")
    with node.store.transaction() as db:
        node.registry.find(RunOrders).end(db, "a", is_complete=True)
    node.restart()
    assert not node.order("a")
    assert (node.state("a"), node.claims.claim_waiting(), node.kinds_sent()) == ("ended", False, [])


def test_granted_order_is_claimed_again_if_something_else_holds_the_lease(node: Node) -> None:
    node.order("a")
    node.order("b")
    node.claims.claim_waiting()
    node.grant("b")
    node.claims.requeue_granted()
    assert (node.state("a"), node.state("b"), node.next()) == ("claimed", "waiting", None)


@pytest.mark.parametrize("state", ["waiting", "claimed", "granted"])
def test_aborted_order_that_was_not_begun_ends_and_is_answered_once(node: Node, state: str) -> None:
    node.order("a")
    if state != "waiting":
        node.claims.claim_waiting()
    if state == "granted":
        node.grant("a")
    assert node.abort("a")
    node.abort("a")
    assert node.state("a") == "ended"
    assert not node.grant("a")
    with pytest.raises(ConflictError):
        node.registry.find(RunOrders).begin("a")
    node.restart()
    assert (node.answers(), node.claims.aborted()) == ([("a", "aborted")], [])
    assert node.kinds_sent() == ["not-run", "run-ended"]


def test_abort_of_an_order_that_has_ended_or_is_unknown_changes_nothing(node: Node) -> None:
    node.let_begin("a")
    with node.store.transaction() as db:
        node.registry.find(RunOrders).end(db, "a", is_complete=True)
    node.abort("a")
    node.abort("unknown")
    assert (node.kinds_sent(), node.claims.aborted()) == ([], [])


def test_orders_of_a_kind_are_refused_when_too_many_wait(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_queue, "MAX_WAITING", 2)
    node.order("a")
    node.claims.claim_waiting()
    node.order("b")
    node.order("c")
    assert node.order("d", EXEC)
    assert node.answers() == [("c", "refused")]
    node.claims.claim_waiting()
    assert node.claimed() == [("a", 1), ("b", 1), ("d", 1)]


def test_oldest_ended_orders_are_forgotten(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_queue, "REMEMBERED", 3)
    for number in range(10):
        node.order(f"o{number}")
        node.registry.find(RunOrders).give_up(f"o{number}", "a test")
    assert node.store.read("SELECT count(*) FROM queued_order") == [(4,)]
    assert not node.order("o9")
    assert len(node.answers()) == 10
