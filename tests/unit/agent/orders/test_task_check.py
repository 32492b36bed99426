"""A task begins only if it is for this node and in time; one that runs commands only if it is signed, and the node allows commands."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.scripted_server import ScriptedServer
from precast.agent.orders.order_check import CheckedTask, check_task, needed_catalogs
from precast.base.errors import DeniedError
from precast.services.identity.authority import Authority
from precast.wire.jobs.orders import SignedTaskOrder, TaskOrder
from precast.wire.jobs.programs import (
    AnyTest,
    AnyWork,
    CatalogWork,
    CleanTest,
    CommandTest,
    FactTest,
    FileTest,
    ManifestWork,
    NoWork,
    ResourceTest,
    ShellWork,
    TaskProgram,
    program_text,
)
from precast.wire.jobs.signed_orders import signed_order_bytes

NOW = datetime.now(UTC)
LATER = NOW + timedelta(minutes=5)
SHELL = TaskProgram("t", ShellWork("uptime"))
LOOKS: list[AnyTest] = [FileTest(path="/etc"), FactTest(fact="kernel"), CleanTest(work=ManifestWork("a.pp"))]


class Node:
    """A machine that an authority has made a node, with a policy that permits enforcing."""

    def __init__(self, directory: Path) -> None:
        self.server = ScriptedServer(directory / "server")
        self.root = directory / "node"
        self.server.enrol(self.root, "web1")
        self.server.permit(self.root, "web1", "triggered")

    def order(self, program: TaskProgram = SHELL, *, is_signed: bool = True, **changes: Any) -> SignedTaskOrder:
        order = TaskOrder("web1", "o1", program_text(program), NOW, LATER, 60.0, 1_000)
        return self.server.sign_task(msgspec.structs.replace(order, **changes), is_signed=is_signed)

    def check(self, order: SignedTaskOrder, at: datetime = NOW, **options: Any) -> CheckedTask:
        return check_task(self.root, "o1", order, at, **{"allows_exec": True, **options})

    def refuse(self, order: SignedTaskOrder, reason: str, **options: Any) -> None:
        with pytest.raises(DeniedError, match=reason) as raised:
            self.check(order, **options)
        assert raised.value.code == "AGENT-032"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_signed_task_is_the_one_that_is_carried_out(node: Node) -> None:
    signed = node.order(inputs='{"a": 1}')
    forged = msgspec.structs.replace(signed, expires_at=LATER + timedelta(days=1), timeout_s=1e9)
    task = node.check(forged)
    assert (task.program, task.inputs, task.order.timeout_s) == (SHELL, {"a": 1}, 60.0)


def test_task_with_commands_that_nobody_signed_for_this_node_is_refused(node: Node) -> None:
    signed = node.order()
    text = signed.text.replace("uptime", "reboot")
    node.refuse(msgspec.structs.replace(signed, text=text), "not signed by an authority")
    node.refuse(msgspec.structs.replace(signed, signature=""), "it runs commands, and is not signed")
    node.refuse(node.order(node="web2"), "it is for web2, and this node is web1")
    node.refuse(node.order(order="o2"), "its signature is that of the task o2")
    node.server.authority = Authority.new(NOW)
    node.refuse(node.order(), "not signed by an authority")


def test_signature_of_a_command_is_not_that_of_a_task(node: Node) -> None:
    signed = node.order()
    other = node.server._sign(signed_order_bytes(signed.text))
    node.refuse(msgspec.structs.replace(signed, signature=other), "not signed by an authority")


def test_task_that_comes_too_late_is_refused_unless_it_has_begun_before(node: Node) -> None:
    node.refuse(node.order(), "it had to begin before", at=LATER)
    assert node.check(node.order(), at=LATER, has_begun=True).order.order == "o1"


def test_node_whose_settings_allow_no_commands_refuses_a_task_with_commands(node: Node) -> None:
    node.refuse(node.order(), "allow_exec is not set", allows_exec=False)


def test_node_whose_policy_permits_no_enforcing_refuses_a_task_with_commands(node: Node) -> None:
    node.server.permit(node.root, "web1", "never")
    node.refuse(node.order(), "its policy permits no run to enforce")


@pytest.mark.parametrize("work", [NoWork(), CatalogWork(), ManifestWork("a.pp", mode="noop")])
def test_task_that_only_applies_catalogs_and_looks_needs_no_signature_and_no_right(node: Node, work: AnyWork) -> None:
    node.server.permit(node.root, "web1", "never")
    order = node.order(TaskProgram("t", work, before=LOOKS), is_signed=False, catalogs={"": "0" * 64, "a.pp": "1" * 64})
    assert node.check(order, allows_exec=False).program.work == work
    node.refuse(order, "it had to begin before", at=LATER)
    other = node.order(TaskProgram("t", NoWork()), is_signed=False, node="web2")
    node.refuse(other, "it is for web2")


@pytest.mark.parametrize(
    "test",
    [
        CommandTest(cmd="true"),
        ResourceTest(type="file", title="/x"),
        FileTest(path="/etc/shadow", contains="root:$y$"),
    ],
)
def test_task_whose_test_runs_or_reads_something_needs_what_commands_need(node: Node, test: AnyTest) -> None:
    program = TaskProgram("t", NoWork(), after=[test])
    node.refuse(node.order(program, is_signed=False), "it runs commands, and is not signed")
    node.refuse(node.order(program), "allow_exec is not set", allows_exec=False)


def test_wrong_signature_is_refused_even_if_none_is_needed(node: Node) -> None:
    order = node.order(TaskProgram("t", NoWork()))
    node.refuse(msgspec.structs.replace(order, text=order.text + " "), "not signed by an authority")


def test_task_without_the_version_of_a_catalog_is_refused(node: Node) -> None:
    program = TaskProgram("t", CatalogWork(), after=[CleanTest(work=ManifestWork("a.pp"))])
    assert list(needed_catalogs(program)) == ["", "a.pp"]
    node.refuse(node.order(program), "it does not name the version of the released catalog")
    node.refuse(node.order(program, catalogs={"": "0" * 64}), r"it does not name the version of the catalog of a\.pp")


@pytest.mark.parametrize(
    "changes", [{"program": "{}"}, {"inputs": "[]"}, {"program": '{"task":"t","work":{"work":"x"}}'}]
)
def test_task_that_this_node_does_not_understand_is_refused(node: Node, changes: dict[str, Any]) -> None:
    node.refuse(node.order(**changes), "a newer Precast has written it")
