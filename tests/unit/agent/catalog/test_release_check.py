"""The cached catalog is used only if a trusted authority has released exactly it to this node, and nothing newer was applied."""

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.scripted_server import ScriptedServer
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.cached_release import next_release_path, release_path
from precast.agent.catalog.release_check import check_cached_catalog, decode_header, verify
from precast.base.errors import DeniedError
from precast.services.identity.authority import Authority
from precast.wire.catalogs.release_pointer import SignedRelease

CATALOG = b'{"resources": []}'


class Node:
    """A machine that an authority has made a node, with a released catalog."""

    def __init__(self, directory: Path) -> None:
        self.server = ScriptedServer(directory / "server")
        self.root = directory / "node"
        self.server.enrol(self.root, "web1")
        self.release(7)

    def release(self, sequence: int, catalog: bytes = CATALOG, **changes: Any) -> SignedRelease:
        return self.server.release(self.root, catalog, "web1", sequence, **changes)

    def check(self, applied: int = 0) -> int:
        return check_cached_catalog(self.root, catalog_path(self.root).read_bytes(), applied).sequence

    def refuse(self, reason: str, applied: int = 0) -> None:
        with pytest.raises(DeniedError, match=reason) as raised:
            self.check(applied)
        assert raised.value.code == "AGENT-019"
        assert "\n" not in raised.value.message


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_released_catalog_is_accepted_and_a_rollback_is_a_new_release(node: Node) -> None:
    assert node.check(applied=0) == node.check(applied=7) == 7
    assert release_path(node.root).stat().st_mode & 0o777 == 0o600
    node.release(8, b'{"resources": [1]}')
    assert node.check(applied=7) == 8
    node.release(9)  # back to the first catalog
    assert node.check(applied=8) == 9


def test_older_release_than_the_one_applied_is_refused(node: Node) -> None:
    node.refuse("older than the release applied last .its sequence is 7, that of the other 8", applied=8)


def test_catalog_that_was_changed_on_the_disk_or_exchanged_is_refused(node: Node) -> None:
    catalog_path(node.root).write_bytes(CATALOG + b" ")
    node.refuse("it names the catalog [0-9a-f]{12}, and this one is")
    catalog_path(node.root).write_bytes(b"")
    node.refuse("it names the catalog")


def test_catalog_of_another_node_is_refused(node: Node, tmp_path: Path) -> None:
    node.server.enrol(tmp_path / "other", "web2")
    node.server.release(tmp_path / "other", CATALOG, "web2", 8)
    release_path(node.root).write_bytes(release_path(tmp_path / "other").read_bytes())
    node.refuse("it is for web2, and this node is web1")


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"\xff", b'{"release": 1}', b'{"release":"{}","signature":"AA=="}'])
def test_file_that_is_no_pointer_is_refused(node: Node, data: bytes) -> None:
    release_path(node.root).write_bytes(data)
    node.refuse("cannot be read|not signed")
    release_path(node.root).unlink()
    node.refuse("the cached catalog has none")


def test_pointer_that_was_tampered_with_or_signed_by_another_authority_is_refused(node: Node) -> None:
    good = node.release(7)
    stranger = Authority.new(datetime.now(UTC))
    other = ScriptedServer(node.server.directory)
    other.authority = stranger
    for bad in (
        SignedRelease(good.release.replace('"sequence":7', '"sequence":9'), good.signature),
        SignedRelease(good.release + " ", good.signature),
        SignedRelease(good.release, "no base64"),
        SignedRelease(good.release, base64.b64encode(b"0" * 70).decode()),
        other.release(node.root, CATALOG, "web1", 9),
    ):
        release_path(node.root).write_bytes(msgspec.json.encode(bad))
        node.refuse("not signed by an authority that this node trusts")


def test_signature_of_a_policy_is_no_signature_of_a_release(node: Node) -> None:
    good = node.release(7)
    signature = base64.b64encode(node.server.authority.sign_document(b"precast policy 1\n" + good.release.encode()))
    with pytest.raises(DeniedError, match="not signed"):
        verify(node.root, SignedRelease(good.release, signature.decode()))


def test_node_that_was_stopped_during_a_fetch_uses_the_pointer_of_the_catalog_it_has(node: Node) -> None:
    old = release_path(node.root).read_bytes()
    newer = node.release(8, b'{"resources": [1]}')
    next_release_path(node.root).write_bytes(msgspec.json.encode(newer))
    release_path(node.root).write_bytes(old)
    assert node.check() == 8  # the catalog was renamed, the pointer not yet
    catalog_path(node.root).write_bytes(CATALOG)
    assert node.check() == 7  # neither was


@pytest.mark.parametrize("value", ["", "x", "e30=", "A" * 9_000, base64.b64encode(b"[]").decode()])
def test_header_that_is_no_pointer_is_refused(value: str) -> None:
    with pytest.raises(DeniedError) as raised:
        decode_header(value)
    assert raised.value.code == "AGENT-019"
