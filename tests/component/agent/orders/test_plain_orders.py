"""Plain orders: facts, restart and reboot, each answered with `order-ended`."""

import shutil
from pathlib import Path

import pytest

from precast.agent.identity import machine
from precast.agent.orders import reboot_command
from precast.agent.orders.order_queue import MAX_BEGINS
from precast.agent.orders.reboot_command import find_reboot_command, request_reboot
from precast.agent.orders.reboot_orders import DEADLINE_S, NOT_REBOOTED, RebootOrders
from precast.agent.orders.refresh_facts_orders import RefreshFactsOrders
from precast.wire.jobs.orders import NOT_RUN, ORDER_ENDED, REBOOT, REFRESH_FACTS, RESTART_AGENT, NotRun, OrderEnded
from tests.component.agent.orders.node import Node


@pytest.fixture
def boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the boot id."""
    path = tmp_path / "boot_id"
    path.write_text("first\n")
    monkeypatch.setattr(machine, "BOOT_ID", path)
    return path


def results(node: Node) -> list[tuple[str, bool, str]]:
    return [(ended.order, ended.is_success, ended.message) for ended in node.sent(ORDER_ENDED, OrderEnded)]


def test_facts_order_is_answered_with_its_result_once(node: Node) -> None:
    node.let_begin("a", REFRESH_FACTS)
    orders = node.registry.find(RefreshFactsOrders)
    orders.end("a", result='{"facts":3}')
    orders.end("a")
    (answer,) = node.sent(ORDER_ENDED, OrderEnded)
    assert (answer.is_success, answer.result) == (True, '{"facts":3}')


def test_facts_order_whose_process_dies_is_repeated(node: Node) -> None:
    node.let_begin("a", REFRESH_FACTS)
    for _ in range(MAX_BEGINS - 1):
        node.restart()
        node.claims.claim_waiting()
        node.grant("a")
        node.registry.find(RefreshFactsOrders).begin("a")
    node.restart()
    assert node.answers() == [("a", "interrupted")]


def test_restart_is_answered_by_the_next_daemon(node: Node) -> None:
    node.let_begin("a", RESTART_AGENT)
    assert node.kinds_sent() == []
    node.restart()
    node.restart()
    assert results(node) == [("a", True, "")]


def test_restart_that_was_granted_and_not_begun_is_claimed_again(node: Node) -> None:
    node.order("a", RESTART_AGENT)
    node.claims.claim_waiting()
    node.grant("a")
    node.restart()
    assert (node.state("a"), node.kinds_sent()) == ("waiting", [])


def test_reboot_has_succeeded_when_the_boot_id_is_another(node: Node, boot: Path) -> None:
    node.let_begin("a", REBOOT)
    node.restart()  # the daemon alone: the machine goes down only now
    assert (node.state("a"), node.kinds_sent()) == ("begun", [])
    boot.write_text("second\n")
    node.restart()
    assert (node.state("a"), results(node)) == ("ended", [("a", True, "")])


@pytest.mark.usefixtures("boot")
def test_machine_that_does_not_reboot_is_answered_after_the_deadline(node: Node) -> None:
    node.let_begin("a", REBOOT)
    node.clock.advance(DEADLINE_S - 1)
    node.clock.set_ahead(10 * DEADLINE_S)  # a clock that is set decides nothing
    node.restart()
    assert node.state("a") == "begun"
    node.clock.advance(1)
    node.restart()
    (answer,) = node.sent(NOT_RUN, NotRun)
    assert (answer.reason, answer.message) == ("interrupted", NOT_REBOOTED)


@pytest.mark.usefixtures("boot")
def test_abort_does_not_end_a_reboot_that_was_begun(node: Node) -> None:
    node.let_begin("a", REBOOT)
    node.abort("a")
    node.restart()
    assert (node.state("a"), node.kinds_sent()) == ("begun", [])


def test_reboot_command_that_fails_is_answered(node: Node) -> None:
    node.let_begin("a", REBOOT)
    orders = node.registry.find(RebootOrders)
    orders.end("a", is_success=False, message=request_reboot(["/bin/sh", "-c", "echo no >&2; exit 3"]))
    assert results(node) == [("a", False, "/bin/sh ended with 3: no")]


def test_reboot_command_is_that_of_the_settings_or_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_reboot_command(tmp_path, ["touch", "x"]) == ["touch", "x"]
    # A root is no machine: there is nothing to reboot.
    assert find_reboot_command(tmp_path, []) is None
    programs = {"systemctl": "/bin/systemctl", "shutdown": "/sbin/shutdown"}
    monkeypatch.setattr(shutil, "which", lambda name, path: programs.get(name))
    monkeypatch.setattr(reboot_command, "SYSTEMD", tmp_path)
    assert find_reboot_command(Path("/"), []) == ["/bin/systemctl", "reboot"]
    monkeypatch.setattr(reboot_command, "SYSTEMD", tmp_path / "none")
    assert find_reboot_command(Path("/"), []) == ["/sbin/shutdown", "-r", "now"]
    assert request_reboot(["/no/such"]) == "/no/such cannot be run: No such file or directory"
