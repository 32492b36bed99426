"""A policy is kept only if the authority has signed it, for this node, and it is not older than the one that is kept."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.scripted_server import ScriptedServer
from precast.agent.catalog import policy as kept
from precast.agent.catalog.policy_check import accept, verdict, verify
from precast.base.errors import DeniedError
from precast.services.identity.authority import Authority
from precast.wire.nodes.policy import Policy, SignedPolicy, signed_bytes, text_of

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
        text = text_of(msgspec.structs.replace(given, **changes))
        signature = base64.b64encode(authority.sign_document(signed_bytes(text))).decode()
        return msgspec.json.encode(SignedPolicy(text, signature))

    def accept(self, data: bytes, at: datetime = NOW) -> Policy:
        return accept(self.root, data, at)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_good_policy_is_kept_for_root_alone_and_lets_runs_enforce(node: Node) -> None:
    assert not verdict(node.root, "schedule", NOW).may_enforce
    assert node.accept(node.signed(7)).serial == 7
    assert kept.place(node.root).stat().st_mode & 0o777 == 0o600
    assert verdict(node.root, "schedule", NOW).may_enforce
    assert "good until" in verdict(node.root, "schedule", NOW + timedelta(days=31)).why


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node": "web2"}, "it is for web2, this is web1"),
        ({"serial": 6}, "older than the one that is kept .serial 6, 7 is kept"),
        ({"serial": 8, "expires_at": NOW}, "it was good until 2026-11-15 12:00:00Z"),
        ({"serial": 8, "authority": Authority.new(NOW)}, "not signed by an authority that this node trusts"),
        ({"serial": 8, "enforce": "sometimes"}, "a newer Precast has written it"),
        ({"serial": 8, "windows": ["Sun 02:00 4h Mars/Base"]}, "Mars/Base is not known here"),
    ],
)
def test_policy_that_is_no_good_is_refused_in_a_line_and_the_kept_one_stays(
    node: Node, changes: dict[str, Any], reason: str
) -> None:
    node.accept(node.signed(7))
    before = kept.place(node.root).read_bytes()
    with pytest.raises(DeniedError, match=reason) as raised:
        node.accept(node.signed(**changes))
    assert raised.value.code == "AGENT-018"
    assert "\n" not in raised.value.message
    assert kept.place(node.root).read_bytes() == before
    assert verdict(node.root, "schedule", NOW).may_enforce


def test_text_or_signature_that_was_changed_on_its_way_is_refused(node: Node) -> None:
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
        with pytest.raises(DeniedError, match="no policy"):
            node.accept(data)
    assert kept.read(node.root) is None


def test_same_policy_signed_anew_lasts_longer_and_an_earlier_signature_changes_nothing(node: Node) -> None:
    node.accept(node.signed(7))
    later = {"issued_at": NOW + timedelta(days=1), "expires_at": NOW + timedelta(days=31)}
    assert node.accept(node.signed(7, **later)).expires_at == NOW + timedelta(days=31)
    assert node.accept(node.signed(7)).expires_at == NOW + timedelta(days=31)


def test_policy_whose_authority_is_not_trusted_any_more_lets_nothing_enforce(node: Node) -> None:
    node.accept(node.signed())
    authority = node.root / "var/lib/precast/agent/authority.pem"
    before = authority.read_text()
    authority.write_text(Authority.new(NOW).pem + before)  # a rotation: both are trusted
    assert verdict(node.root, "schedule", NOW).may_enforce
    authority.write_text(Authority.new(NOW).pem)
    assert "not signed" in verdict(node.root, "schedule", NOW).why


def test_kept_policy_that_somebody_edited_lets_nothing_enforce(node: Node) -> None:
    node.accept(node.signed(enforce="never"))
    place = kept.place(node.root)
    place.write_text(place.read_text().replace("never", "always"))
    assert "not signed" in verdict(node.root, "schedule", NOW).why
    place.write_text("{")
    assert "no policy" in verdict(node.root, "schedule", NOW).why
    found = kept.read(node.root)
    assert found is None
    place.write_bytes(node.signed())
    assert (read := kept.read(node.root)) is not None
    assert verify(node.root, read[0]).enforce == "always"
