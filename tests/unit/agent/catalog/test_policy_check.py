"""A policy is cached only if a trusted authority has signed it for this node, and if it is not older than the cached one."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.scripted_server import ScriptedServer
from precast.agent.catalog import cached_policy
from precast.agent.catalog.policy_check import accept, check_cached_policy, verify
from precast.base.errors import DeniedError
from precast.services.identity.authority import Authority
from precast.wire.nodes.policy import Policy, SignedPolicy, policy_text, signed_bytes

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Node:
    """A machine that an authority has made a node."""

    def __init__(self, directory: Path) -> None:
        self.server = ScriptedServer(directory / "server")
        self.root = directory / "node"
        self.server.enrol(self.root, "web1")

    def signed(self, serial: int = 1, **changes: Any) -> bytes:
        authority: Authority = changes.pop("authority", self.server.authority)
        given = Policy("web1", serial, "always", [], NOW, NOW + timedelta(days=30))
        text = policy_text(msgspec.structs.replace(given, **changes))
        signature = base64.b64encode(authority.sign_document(signed_bytes(text))).decode()
        return msgspec.json.encode(SignedPolicy(text, signature))

    def accept(self, data: bytes, at: datetime = NOW) -> Policy:
        return accept(self.root, data, at)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_valid_policy_is_cached_for_root_alone_and_lets_runs_enforce(node: Node) -> None:
    assert not check_cached_policy(node.root, "schedule", NOW).may_enforce
    assert node.accept(node.signed(7)).serial == 7
    assert cached_policy.policy_path(node.root).stat().st_mode & 0o777 == 0o600
    assert check_cached_policy(node.root, "schedule", NOW).may_enforce
    assert "expired at" in check_cached_policy(node.root, "schedule", NOW + timedelta(days=31)).why


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node": "web2"}, "it is for web2, and this node is web1"),
        ({"serial": 6}, "older than the cached one .its serial is 6, that of the cached one 7"),
        ({"serial": 8, "expires_at": NOW}, "it expired at 2026-11-15 12:00:00Z"),
        ({"serial": 8, "authority": Authority.new(NOW)}, "not signed by an authority that this node trusts"),
        ({"serial": 8, "enforce": "sometimes"}, "a newer Precast has written it"),
        ({"serial": 8, "windows": ["Sun 02:00 4h Mars/Base"]}, "Mars/Base is not known on this machine"),
    ],
)
def test_invalid_policy_is_refused_in_a_line_and_the_cached_one_stays(
    node: Node, changes: dict[str, Any], reason: str
) -> None:
    node.accept(node.signed(7))
    before = cached_policy.policy_path(node.root).read_bytes()
    with pytest.raises(DeniedError, match=reason) as raised:
        node.accept(node.signed(**changes))
    assert raised.value.code == "AGENT-018"
    assert "\n" not in raised.value.message
    assert cached_policy.policy_path(node.root).read_bytes() == before
    assert check_cached_policy(node.root, "schedule", NOW).may_enforce


def test_text_or_signature_that_was_tampered_with_is_refused(node: Node) -> None:
    good = msgspec.json.decode(node.signed(), type=SignedPolicy)
    for bad in (
        SignedPolicy(good.policy.replace('"serial":1', '"serial":9'), good.signature),
        SignedPolicy(good.policy, base64.b64encode(b"0" * 70).decode()),
        SignedPolicy(good.policy, "no base64"),
        SignedPolicy(good.policy + " ", good.signature),
    ):
        with pytest.raises(DeniedError, match="not signed"):
            node.accept(msgspec.json.encode(bad))
    for data in (b"", b"{}", b"\xff", b'{"policy": 1}'):
        with pytest.raises(DeniedError, match="not a policy document"):
            node.accept(data)
    assert cached_policy.read_policy(node.root) is None


def test_same_policy_signed_again_lasts_longer_and_an_earlier_signature_changes_nothing(node: Node) -> None:
    node.accept(node.signed(7))
    later = {"issued_at": NOW + timedelta(days=1), "expires_at": NOW + timedelta(days=31)}
    assert node.accept(node.signed(7, **later)).expires_at == NOW + timedelta(days=31)
    assert node.accept(node.signed(7)).expires_at == NOW + timedelta(days=31)


def test_policy_whose_authority_is_no_longer_trusted_lets_no_run_enforce(node: Node) -> None:
    node.accept(node.signed())
    authority = node.root / "var/lib/precast/agent/authority.pem"
    before = authority.read_text()
    authority.write_text(Authority.new(NOW).pem + before)  # a rotation: both are trusted
    assert check_cached_policy(node.root, "schedule", NOW).may_enforce
    authority.write_text(Authority.new(NOW).pem)
    assert "not signed" in check_cached_policy(node.root, "schedule", NOW).why


def test_cached_policy_that_was_edited_lets_no_run_enforce(node: Node) -> None:
    node.accept(node.signed(enforce="never"))
    path = cached_policy.policy_path(node.root)
    path.write_text(path.read_text().replace("never", "always"))
    assert "not signed" in check_cached_policy(node.root, "schedule", NOW).why
    path.write_text("{")
    assert "no policy" in check_cached_policy(node.root, "schedule", NOW).why
    assert cached_policy.read_policy(node.root) is None
    path.write_bytes(node.signed())
    assert (read := cached_policy.read_policy(node.root)) is not None
    assert verify(node.root, read[0]).enforce == "always"
