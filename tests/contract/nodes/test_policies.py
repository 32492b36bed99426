"""Policies on both databases: operators set them, the audit log records them, the authority signs them for one node."""

import base64
from pathlib import Path

import msgspec
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from precast.base.clock import ManualClock
from precast.base.errors import InputError, NotFoundError
from precast.base.ids import TimeOrderedIds
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.services.nodes.policies import PolicyService
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.windows.bound_nodes import BoundNodes
from precast.services.windows.definitions import WindowDefinitions
from precast.services.windows.expansion import WindowExpansions
from precast.services.windows.openings import WindowService
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.nodes.nodes import Fleet
from precast.store.nodes.policies import Policies
from precast.store.sessions.sessions import Sessions
from precast.store.windows.windows import Windows
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.nodes.policy import POLICY_FOR, Enforce, NodesPolicy, Policy, PolicyView, SignedPolicy, signed_bytes
from precast.wire.windows.bodies import BindingBody, WindowBody


class Site:
    def __init__(self, database: Database, signer: SignerClient) -> None:
        self.database, self.signer = database, signer
        self.audit = AuditLog(database, TimeOrderedIds(database.clock))
        known = KnownNodes(database, Fleet(database), Sessions(database))
        targets = TargetService(known, database.clock)
        self.nodes = NodeCertificates(database)
        nodes, windows = BoundNodes(known, database.clock), Windows(database)
        self.windows = WindowService(database, windows, known, nodes, WindowExpansions())
        self.definitions = WindowDefinitions(database, windows, self.windows, nodes, self.audit)
        self.service = PolicyService(
            database, Policies(database), self.nodes, known, targets, self.audit, signer, self.windows
        )

    async def set(self, targets: str, enforce: Enforce, *windows: str) -> list[str]:
        body = NodesPolicy(TargetsBody([targets]), enforce, list(windows), "a test")
        return (await self.service.set(body, "person:ann")).touched

    async def signed(self, node: str) -> SignedPolicy:
        _, body = await self.service.sign(node, "")
        assert body is not None
        return msgspec.json.decode(body, type=SignedPolicy)


@pytest.fixture
async def site(database: Database, tmp_path: Path) -> Site:
    files = AuthorityFiles(tmp_path / "authority")
    with files.created(Authority.new(database.clock.now())):
        pass
    made = Site(database, await open_local_signer(files, database.clock))
    for name in ("web1", "web2", "db1"):
        await database.write(made.nodes.lock_or_create, name)
    return made


async def test_policy_is_set_shown_and_audited_once(site: Site) -> None:
    assert await site.service.show("web1") == PolicyView("web1")
    assert await site.set("web*", "window", "sun 2:00 240m", "daily 22:00 1h") == ["web1", "web2"]
    assert await site.set("web1", "window", "Sun 02:00 4h", "daily 22:00 1h") == []
    view = await site.service.show("web1")
    assert (view.enforce, view.windows, view.set_by) == ("window", ["Sun 02:00 4h", "daily 22:00 1h"], "person:ann")
    assert (await site.service.show("db1")).serial == 0
    audit_entries = [(entry.action, entry.target, entry.detail["enforce"]) for entry in await site.audit.read_latest()]
    assert audit_entries == [("node.policy", "web2", "window"), ("node.policy", "web1", "window")]


@pytest.mark.parametrize(
    ("enforce", "windows", "message"),
    [
        ("window", [], "no window is given"),
        ("always", ["Sun 02:00 4h"], "exclude each other"),
        ("never", ["Sun 02:00 4h"], "exclude each other"),
        ("window", ["Sun"], "is not a valid window"),
        ("window", ["Sun 02:00 4h"] * 21, "too many"),
    ],
)
async def test_contradictory_policy_is_refused(site: Site, enforce: Enforce, windows: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        await site.set("web1", enforce, *windows)
    assert (await site.service.show("web1")).serial == 0


async def test_unknown_node_and_missing_policy_are_errors(site: Site) -> None:
    with pytest.raises(NotFoundError, match="no node nobody"):
        await site.service.show("nobody")
    with pytest.raises(NotFoundError, match="runs in no-op mode"):
        await site.service.sign("web1", "")


async def test_signature_is_the_authoritys_over_node_serial_and_end(site: Site, clock: ManualClock) -> None:
    await site.set("web1", "triggered")
    signed = await site.signed("web1")
    key = site.signer.current.certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    signature = base64.b64decode(signed.signature)
    key.verify(signature, signed_bytes(signed.policy), ec.ECDSA(hashes.SHA256()))
    with pytest.raises(InvalidSignature):
        key.verify(signature, signed.policy.encode(), ec.ECDSA(hashes.SHA256()))
    serial = (await site.service.show("web1")).serial
    now = clock.now()
    assert msgspec.json.decode(signed.policy, type=Policy) == Policy(
        "web1", serial, "triggered", [], now, now + POLICY_FOR
    )
    assert await site.service.sign("web1", str(serial)) == (str(serial), None)


async def test_signed_policy_has_the_openings_of_bound_windows_until_it_expires(site: Site, clock: ManualClock) -> None:
    await site.set("web1", "always")
    await site.definitions.put("nights", WindowBody(["daily 02:00 1h"]), "person:ann")
    await site.definitions.bind("nights", BindingBody("web1", ["run-enforce"]), "person:ann")
    await site.definitions.bind("nights", BindingBody("*", ["reboot"]), "person:ann")
    policy = msgspec.json.decode((await site.signed("web1")).policy, type=Policy)
    assert policy.openings is not None
    assert len(policy.openings.intervals) == POLICY_FOR.days
    tag, document = await site.service.sign("web1", policy.tag)
    assert (tag, document) == (policy.tag, None)
    clock.advance(3600 * 5)
    assert await site.service.sign("web1", policy.tag) == (policy.tag, None), "time alone makes no other policy"
    await site.definitions.put("nights", WindowBody(["daily 04:00 1h"]), "person:ann")
    tag, document = await site.service.sign("web1", policy.tag)
    assert (tag != policy.tag, document is not None) == (True, True)
    await site.definitions.unbind("nights", "web1", "person:ann")
    assert msgspec.json.decode((await site.signed("web1")).policy, type=Policy).openings is None
