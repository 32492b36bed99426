"""Policies: what the agent of a node may do by itself. Operators set them, the signer signs them, nodes fetch them.

The signer seals a policy when an operator sets it, and signs only sealed ones. It signs when a node fetches the policy, so a policy is
always valid for the same time from then on, and a node that fetches it now and then always has a valid one. The signed document names
the node and the serial of the policy: no other node can use it, and no node mistakes an older policy for a newer one. It also has the
intervals in which the maintenance windows of the node are open for runs that enforce, until it expires.
"""

from collections.abc import Sequence
from typing import cast

import msgspec

from precast.services import texts
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.messages import Credential, PolicyRecord, Seals
from precast.services.issues import NO_SUCH_NODE
from precast.services.nodes import issues
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.windows.openings import WindowService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.nodes.policies import Policies, StoredPolicy
from precast.wire.nodes.bodies import NodesActionResult
from precast.wire.nodes.policy import (
    MAX_OPENINGS,
    MAX_WINDOWS,
    POLICY_FOR,
    Enforce,
    NodesPolicy,
    Openings,
    PolicyView,
    policy_tag,
)
from precast.wire.windows.rules import parse_rule

BATCH = 500
# How often a policy is set again if another operator sets one at the same time.
ATTEMPTS = 3


class PolicyService:
    """Sets, shows and signs policies; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        policies: Policies,
        nodes: NodeCertificates,
        known: KnownNodes,
        targets: TargetService,
        audit: AuditLog,
        signer: SignerClient,
        windows: WindowService,
    ) -> None:
        self._database, self._policies, self._nodes, self._known = database, policies, nodes, known
        self._targets, self._audit, self._signer, self._windows = targets, audit, signer, windows

    async def set(self, body: NodesPolicy, actor: str, approver: Credential | None = None) -> NodesActionResult:
        """Set the policy of nodes, which the signer seals for the approver.

        Raises InputError POLICY-001, POLICY-002, and what resolving targets and the signer raise.
        """
        texts.check("the reason", body.why)
        windows = _parse_windows(body)
        resolved = await self._targets.resolve(body.nodes)
        changed: list[str] = []
        for start in range(0, len(resolved.names), BATCH):
            names: Sequence[str] = resolved.names[start : start + BATCH]
            for _ in range(ATTEMPTS):
                names, after = await self._database.read(self._find_changing, names, body.enforce, windows)
                if not names:
                    break
                seals = await self._signer.seal_policies(names, body.enforce, windows, after, approver)
                changed += await self._database.write(self._set, names, seals, body, windows, actor)
        return NodesActionResult(changed, resolved.rests_on_claims)

    async def show(self, node: str) -> PolicyView:
        """Show a node's policy. Raises NotFoundError NODE-001."""
        policy, is_known = await self._database.read(self._show, node)
        if not is_known:
            raise NO_SUCH_NODE.error(node=node[:100])
        if policy is None:
            return PolicyView(node)
        enforce = cast(Enforce, policy.enforce)
        return PolicyView(node, enforce, policy.windows, policy.serial, policy.set_by, policy.set_at)

    async def sign(self, node: str, known: str) -> tuple[str, bytes | None]:
        """Return the tag of a node's policy and the signed document; None for the document if the node has the one with this tag.

        Raises NotFoundError POLICY-003.
        """
        policy = await self._database.read(self._policies.find, node)
        if policy is None:
            raise issues.NO_POLICY.error(node=node)
        openings = await self._find_openings(node)
        tag = policy_tag(policy.serial, openings)
        if tag == known:
            return tag, None
        record = PolicyRecord(policy.node, policy.serial, cast(Enforce, policy.enforce), policy.windows)
        return tag, msgspec.json.encode(await self._signer.sign_policy(record, policy.seal, openings))

    async def _find_openings(self, node: str) -> Openings | None:
        now = self._database.clock.now()
        found = (await self._windows.openings([node], "run-enforce", now, now + POLICY_FOR))[node]
        return None if found is None else Openings(found.digest, list(found.intervals[:MAX_OPENINGS]))

    def _find_changing(
        self, names: Sequence[str], enforce: Enforce, windows: list[str]
    ) -> Transaction[tuple[list[str], int]]:
        """Find the active nodes that have another policy, and the highest serial that one of them has."""
        changing, after = [], 0
        for name in names:
            if not (yield from self._nodes.is_active(name)):
                continue
            policy = yield from self._policies.find(name)
            if policy is None or (policy.enforce, policy.windows) != (enforce, windows):
                changing.append(name)
                after = max(after, 0 if policy is None else policy.serial)
        return changing, after

    def _set(
        self, names: Sequence[str], sealed: Seals, body: NodesPolicy, windows: list[str], actor: str
    ) -> Transaction[list[str]]:
        changed = []
        for name, seal in zip(names, sealed.seals, strict=True):
            if not (yield from self._nodes.is_active(name)):
                continue
            if (yield from self._policies.set_policy(name, sealed.serial, body.enforce, windows, seal, actor)):
                changed.append(name)
                detail = {"enforce": body.enforce, "windows": windows, "why": body.why}
                yield from self._audit.add(actor, "node.policy", name, **detail)
        return changed

    def _show(self, node: str) -> Transaction[tuple[StoredPolicy | None, bool]]:
        policy = yield from self._policies.find(node)
        return policy, policy is not None or (yield from self._known.find(node)) is not None


def _parse_windows(body: NodesPolicy) -> list[str]:
    """Parse the windows into their canonical form. Raises InputError POLICY-001, POLICY-002."""
    windows = [str(parse_rule(window)) for window in body.windows[: MAX_WINDOWS + 1]]
    problem = ""
    if len(windows) > MAX_WINDOWS:
        problem = f"{len(body.windows)} windows are too many"
    elif body.enforce == "window" and not windows:
        problem = "no window is given"
    elif body.enforce in ("never", "always") and windows:
        problem = f"{body.enforce} and a window exclude each other"
    if problem:
        raise issues.BAD_WINDOWS.error(problem=problem, limit=MAX_WINDOWS)
    return windows
