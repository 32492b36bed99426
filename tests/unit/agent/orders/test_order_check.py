"""An ordered command is run only if the authority has signed exactly it for this node, and the node's policy permits it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.scripted_server import ScriptedServer
from precast.agent.orders.order_check import check_order, check_reboot
from precast.base.errors import DeniedError
from precast.services.identity.authority import Authority
from precast.wire.jobs.orders import ExecOrder, SignedExecOrder

NOW = datetime.now(UTC)
LATER = NOW + timedelta(minutes=5)


class Node:
    """A machine that an authority has made a node, with a policy that permits enforcing."""

    def __init__(self, directory: Path) -> None:
        self.server = ScriptedServer(directory / "server")
        self.root = directory / "node"
        self.server.enrol(self.root, "web1")
        self.server.permit(self.root, "web1", "triggered")

    def signed(self, **changes: Any) -> SignedExecOrder:
        order = ExecOrder("web1", "o1", ["uptime"], NOW, LATER, 60.0, 1_000)
        return self.server.sign_exec(msgspec.structs.replace(order, **changes))

    def refuse(self, signed: SignedExecOrder, reason: str, at: datetime = NOW) -> None:
        with pytest.raises(DeniedError, match=reason) as raised:
            check_order(self.root, "o1", signed, at)
        assert raised.value.code == "AGENT-031"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_signed_command_is_the_one_that_is_run(node: Node) -> None:
    signed = node.signed()
    # What is not signed is not used.
    forged = msgspec.structs.replace(signed, expires_at=LATER + timedelta(days=1), timeout_s=1e9, why="other")
    assert check_order(node.root, "o1", forged, NOW).argv == ["uptime"]
    assert check_order(node.root, "o1", forged, NOW).timeout_s == 60.0


def test_command_that_nobody_signed_for_this_node_is_refused(node: Node) -> None:
    signed = node.signed()
    text = signed.text.replace("uptime", "reboot")
    node.refuse(msgspec.structs.replace(signed, text=text), "not signed by an authority")
    node.refuse(msgspec.structs.replace(signed, signature=""), "not signed by an authority")
    node.refuse(node.signed(node="web2"), "it is for web2, and this node is web1")
    node.refuse(node.signed(order="o2"), "its signature is that of the command o2")
    node.server.authority = Authority.new(NOW)
    node.refuse(node.signed(), "not signed by an authority")


def test_command_that_is_replayed_later_is_refused(node: Node) -> None:
    node.refuse(node.signed(), "it had to begin before", at=LATER)


def test_command_without_a_policy_that_permits_enforcing_is_refused(node: Node) -> None:
    node.server.permit(node.root, "web1", "never")
    node.refuse(node.signed(), "its policy permits no run to enforce")
    (node.root / "var/lib/precast/agent/policy.json").unlink()
    node.refuse(node.signed(), "the node has no policy")


def test_reboot_without_a_policy_that_permits_enforcing_is_refused(node: Node) -> None:
    check_reboot(node.root, "b1", datetime.now(UTC))
    node.server.permit(node.root, "web1", "never")
    with pytest.raises(DeniedError, match="its policy permits no run to enforce"):
        check_reboot(node.root, "b1", datetime.now(UTC))
