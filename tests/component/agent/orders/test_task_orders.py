"""Ordered tasks: begun once on a grant, and answered whatever happens to their process or to the machine."""

from pathlib import Path

import msgspec
import pytest

from precast.agent.identity import machine
from precast.agent.orders.order_queue import MAX_BEGINS
from precast.agent.orders.reboot_orders import DEADLINE_S, NOT_REBOOTED
from precast.agent.orders.task_orders import RequestedReboot, TaskOrders, TaskProgress
from precast.base.errors import ConflictError
from precast.wire.jobs.orders import (
    EXEC_OUTPUT,
    NOT_RUN,
    TASK,
    TASK_ENDED,
    TASK_PHASE,
    ExecOutput,
    NotRun,
    OutputLine,
    SignedTaskOrder,
    TaskEnded,
    TaskOrder,
    TaskPhase,
)
from precast.wire.jobs.programs import AnyWork, CatalogWork, NoWork, RebootWork, ShellWork, TaskProgram, program_text
from precast.wire.jobs.signed_orders import task_text
from tests.component.agent.orders.node import Node


@pytest.fixture
def boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the boot id."""
    path = tmp_path / "boot_id"
    path.write_text("first\n")
    monkeypatch.setattr(machine, "BOOT_ID", path)
    return path


def orders_of(node: Node) -> TaskOrders:
    return node.registry.find(TaskOrders)


def let_begin(node: Node, work: AnyWork) -> None:
    now = node.clock.now()
    order = TaskOrder("web1", "one", program_text(TaskProgram("t", work)), now, now, 60.0, 1_000)
    node.receive(TASK, SignedTaskOrder("one", now, 60.0, task_text(order)))
    grant(node)


def grant(node: Node) -> None:
    node.claims.claim_waiting()
    node.grant("one")
    orders_of(node).begin("one")


def progress(node: Node) -> TaskProgress:
    found = orders_of(node).read_progress("one")
    assert found is not None
    return found


def request_reboot(node: Node) -> None:
    reboot = RequestedReboot(machine.read_boot_id(), node.clock.monotonic_s())
    orders_of(node).write_progress("one", msgspec.structs.replace(progress(node), phase="task", reboot=reboot))


def ended(node: Node) -> TaskEnded:
    return TaskEnded("one", node.clock.now(), True, "task")


@pytest.mark.parametrize("timeout_s", [1e300, -1.0])
def test_order_with_a_time_that_no_server_means_is_ignored(node: Node, timeout_s: float) -> None:
    order = SignedTaskOrder("one", node.clock.now(), timeout_s, "", "")
    assert node.receive(TASK, order) is None
    assert orders_of(node).find("one") is None


def test_task_is_begun_once_and_its_end_is_answered_once(node: Node) -> None:
    let_begin(node, ShellWork("true"))
    with pytest.raises(ConflictError) as caught:
        orders_of(node).begin("one")
    assert caught.value.code == "AGENT-030"
    orders_of(node).end(ended(node))
    orders_of(node).end(ended(node))
    assert node.kinds_sent() == ["task-ended"]


def test_phases_and_output_are_stored_with_the_progress_of_the_task(node: Node) -> None:
    let_begin(node, ShellWork("true"))
    orders_of(node).enter_phase("one", progress(node), "1 test")
    line = OutputLine("out", "hello")
    orders_of(node).send_output("one", 0, [line], msgspec.structs.replace(progress(node), lines=1))
    node.restart()
    assert progress(node).lines == 1
    assert [(phase.phase, phase.message) for phase in node.sent(TASK_PHASE, TaskPhase)] == [("pre-test", "1 test")]
    assert node.sent(EXEC_OUTPUT, ExecOutput) == [ExecOutput("one", 0, [line])]


def test_task_whose_process_dies_is_answered_in_its_phase_and_not_repeated(node: Node) -> None:
    let_begin(node, ShellWork("true"))
    orders_of(node).enter_phase("one", msgspec.structs.replace(progress(node), phase="post-test"), "")
    node.restart()
    node.restart()
    (answer,) = node.sent(NOT_RUN, NotRun)
    assert answer.reason == "interrupted"
    assert answer.message.startswith("the task was broken off in its phase post-test: ")
    assert not node.claims.claim_waiting()


@pytest.mark.parametrize("work", [NoWork(), CatalogWork()])
def test_task_that_changes_nothing_twice_is_repeated_until_it_was_begun_often_enough(node: Node, work: AnyWork) -> None:
    let_begin(node, work)
    for _ in range(MAX_BEGINS - 1):
        node.restart()
        assert node.state("one") == "waiting"
        grant(node)
    node.restart()
    assert node.answers() == [("one", "interrupted")]


def test_task_that_this_agent_has_killed_is_not_repeated(node: Node) -> None:
    let_begin(node, NoWork())
    node.registry.resolve_begun("it took too long")
    (answer,) = node.sent(NOT_RUN, NotRun)
    assert answer.message == "the task was broken off in its phase pre-test: it took too long"


def test_aborted_task_whose_process_dies_is_answered_as_aborted(node: Node) -> None:
    let_begin(node, NoWork())
    node.abort("one")
    node.restart()
    assert node.answers() == [("one", "aborted")]


@pytest.mark.parametrize("is_aborted", [True, False])
def test_task_whose_process_was_asked_to_stop_is_answered_with_the_reason(node: Node, is_aborted: bool) -> None:
    let_begin(node, NoWork())
    if is_aborted:
        node.abort("one")
    orders_of(node).end(ended(node), is_stopped=True)
    assert node.answers() == [("one", "aborted" if is_aborted else "interrupted")]
    assert node.sent(TASK_ENDED, TaskEnded) == []


def test_deadline_counts_from_the_first_begin(node: Node) -> None:
    let_begin(node, NoWork())
    node.clock.advance(20)
    node.restart()
    grant(node)
    node.clock.advance(5)
    assert progress(node).left_s(60.0, node.clock) == pytest.approx(35)


def test_task_is_continued_after_the_reboot_that_it_has_requested(node: Node, boot: Path) -> None:
    let_begin(node, RebootWork())
    request_reboot(node)
    node.restart()  # the daemon alone: the machine goes down only now
    assert (node.state("one"), progress(node).has_rebooted) == ("begun", False)
    boot.write_text("second\n")
    node.clock.advance(30)
    node.restart()
    assert (node.state("one"), progress(node).has_rebooted) == ("waiting", True)
    grant(node)
    assert progress(node).left_s(60.0, node.clock) == pytest.approx(30), "the deadline goes on by the time of day"
    node.clock.set_back(10_000)
    assert progress(node).left_s(60.0, node.clock) == 60.0, "and is never later than when it began"


def test_reboot_of_which_the_task_knows_nothing_interrupts_it(node: Node, boot: Path) -> None:
    let_begin(node, RebootWork())
    boot.write_text("second\n")
    node.restart()
    assert node.answers() == [("one", "interrupted")]


@pytest.mark.usefixtures("boot")
def test_machine_that_does_not_reboot_is_answered_after_the_deadline(node: Node) -> None:
    let_begin(node, RebootWork())
    node.clock.advance(1_000)
    request_reboot(node)
    node.clock.advance(DEADLINE_S - 1)
    node.restart()
    assert node.state("one") == "begun"
    node.clock.advance(1)
    node.restart()
    (answer,) = node.sent(NOT_RUN, NotRun)
    assert (answer.reason, answer.message) == ("interrupted", NOT_REBOOTED)


def test_abort_does_not_end_a_reboot_that_was_requested_but_what_follows_it(node: Node, boot: Path) -> None:
    let_begin(node, RebootWork())
    request_reboot(node)
    node.abort("one")
    node.restart()
    assert node.state("one") == "begun"
    boot.write_text("second\n")
    node.restart()
    assert node.answers() == [("one", "aborted")]
