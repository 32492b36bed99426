"""Ordered runs: begun on a grant, repeated a few times if they are killed, and answered."""

import pytest

from precast.agent.orders.order_queue import MAX_BEGINS
from precast.agent.orders.run_orders import ABORTED, RunOrders
from precast.base.errors import ConflictError
from precast.wire.jobs.orders import NOT_RUN, NotRun
from precast.wire.reports.records import ENDED, RunEnded
from tests.component.agent.orders.node import Node


def end(node: Node, order: str, *, is_complete: bool = True) -> str:
    """End a run. Returns what its report says about why it was broken off."""
    with node.store.transaction() as db:
        return node.registry.find(RunOrders).end(db, order, is_complete=is_complete)


def repeat(node: Node, order: str) -> None:
    """Claim, grant and begin an order again."""
    node.claims.claim_waiting()
    node.grant(order)
    node.registry.find(RunOrders).begin(order)


def test_run_is_begun_once_and_answered_by_its_report(node: Node) -> None:
    node.let_begin("a")
    with pytest.raises(ConflictError, match="cannot begin"):
        node.registry.find(RunOrders).begin("a")
    end(node, "a")
    node.restart()
    assert (node.state("a"), node.kinds_sent()) == ("ended", [])


def test_run_that_was_not_granted_does_not_begin(node: Node) -> None:
    node.order("a")
    with pytest.raises(ConflictError):
        node.registry.find(RunOrders).begin("a")
    node.claims.claim_waiting()
    with pytest.raises(ConflictError):
        node.registry.find(RunOrders).begin("a")


def test_killed_run_is_claimed_again_and_repeated_until_it_was_begun_often_enough(node: Node) -> None:
    node.let_begin("a")
    for number in range(2, MAX_BEGINS + 1):
        node.restart()
        assert node.state("a") == "waiting"
        repeat(node, "a")
        assert node.claimed()[-1] == ("a", number)
    node.restart()
    assert (node.state("a"), node.answers()) == ("ended", [("a", "interrupted")])
    node.restart()
    assert node.kinds_sent() == ["not-run"]


def test_repeated_run_that_ends_is_answered_by_its_report(node: Node) -> None:
    node.let_begin("a")
    node.restart()
    repeat(node, "a")
    end(node, "a")
    assert (node.state("a"), node.answers()) == ("ended", [])


def test_run_that_this_agent_has_killed_is_not_repeated(node: Node) -> None:
    node.let_begin("a")
    node.registry.resolve_begun("it took too long")
    (answer,) = node.sent(NOT_RUN, NotRun)
    assert (answer.reason, answer.message) == ("interrupted", "the run was broken off: it took too long")


def test_aborted_run_is_answered_and_its_report_says_that_it_was_broken_off(node: Node) -> None:
    node.let_begin("a")
    node.abort("a")
    assert (node.state("a"), node.claims.aborted(), node.answers()) == ("begun", ["a"], [])
    assert end(node, "a", is_complete=False) == ABORTED
    assert (node.state("a"), node.answers(), node.claims.aborted()) == ("ended", [("a", "aborted")], [])


def test_run_that_ended_before_the_abort_reached_it_is_answered_by_its_report(node: Node) -> None:
    node.let_begin("a")
    node.abort("a")
    assert end(node, "a") == ""
    assert (node.state("a"), node.answers()) == ("ended", [])


def test_aborted_run_that_was_killed_is_answered_and_not_repeated(node: Node) -> None:
    node.let_begin("a")
    node.abort("a")
    node.restart()
    assert (node.state("a"), node.answers()) == ("ended", [("a", "aborted")])


def test_repeat_that_is_aborted_before_it_begins_is_answered_without_another_report(node: Node) -> None:
    node.let_begin("a")
    node.restart()
    node.abort("a")
    assert (node.answers(), node.kinds_sent()) == ([("a", "aborted")], ["not-run"])


def test_order_that_is_refused_is_answered_with_the_report_of_a_run_that_did_not_take_place(node: Node) -> None:
    node.order("a")
    node.registry.find(RunOrders).refuse("a", "not here")
    (report,) = node.sent(ENDED, RunEnded)
    assert (report.began.order, report.how, report.why) == ("a", "not-run", "refused: not here")


def test_order_does_not_expire_by_the_clock_of_the_node(node: Node) -> None:
    node.order("a")
    node.clock.advance(3600)
    node.claims.claim_waiting()
    node.grant("a")
    node.registry.find(RunOrders).begin("a")
    assert node.answers() == []
