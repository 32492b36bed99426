"""Ordered commands: each is begun at most once and answered once, whichever process dies in between."""

import pytest

from precast.agent.orders.exec_orders import ExecOrders
from precast.base.errors import ConflictError
from precast.wire.jobs.orders import EXEC, NOT_RUN, ExecEnded, NotRun
from tests.component.agent.orders.node import Node


def orders_of(node: Node) -> ExecOrders:
    return node.registry.find(ExecOrders)


def ended(node: Node) -> ExecEnded:
    return ExecEnded("one", node.clock.now(), code=0)


def test_command_is_begun_once_and_its_end_is_answered_once(node: Node) -> None:
    node.let_begin("one", EXEC)
    assert orders_of(node).find("one") is not None
    assert orders_of(node).find("two") is None
    with pytest.raises(ConflictError) as caught:
        orders_of(node).begin("one")
    assert caught.value.code == "AGENT-030"
    orders_of(node).end(ended(node))
    orders_of(node).end(ended(node))
    assert node.kinds_sent() == ["exec-began", "exec-ended"]


def test_refused_command_is_answered_once(node: Node) -> None:
    node.order("one", EXEC)
    node.claims.claim_waiting()
    node.grant("one")
    orders_of(node).refuse("one", "not here")
    orders_of(node).give_up("one", "again")
    (answer,) = node.sent(NOT_RUN, NotRun)
    assert (answer.reason, answer.message) == ("refused", "not here")


def test_command_whose_process_dies_is_answered_and_never_repeated(node: Node) -> None:
    node.let_begin("one", EXEC)
    node.restart()
    node.restart()
    (answer,) = node.sent(NOT_RUN, NotRun)
    assert (answer.reason, answer.message) == (
        "interrupted",
        "the command was broken off: the process that ran it was ended from outside",
    )
    assert not node.claims.claim_waiting()


@pytest.mark.parametrize("is_aborted", [True, False])
def test_command_whose_process_was_asked_to_stop_is_answered_with_the_reason(node: Node, is_aborted: bool) -> None:
    node.let_begin("one", EXEC)
    if is_aborted:
        node.abort("one")
    orders_of(node).end(ended(node), is_stopped=True)
    assert node.answers() == [("one", "aborted" if is_aborted else "interrupted")]
    assert node.kinds_sent() == ["exec-began", "not-run"]


def test_command_that_ended_before_the_abort_reached_it_is_answered_with_its_end(node: Node) -> None:
    node.let_begin("one", EXEC)
    node.abort("one")
    orders_of(node).end(ended(node))
    assert node.kinds_sent() == ["exec-began", "exec-ended"]
