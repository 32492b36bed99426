"""Policies: what the agent of a node may do by itself. Operators set them, the authority signs them, nodes fetch them.

A policy is signed when a node fetches it, so it is always valid for the same time from then on, and a node that fetches it now and
then always has a valid one. The signed document names the node and the serial of the policy: no other node can use it, and no node
mistakes an older policy for a newer one.
"""

import base64
from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import msgspec

from precast.services import texts
from precast.services.identity.authority_files import LoadedAuthority
from precast.services.issues import NO_SUCH_NODE
from precast.services.nodes import issues
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.nodes.policies import Policies, StoredPolicy
from precast.wire.nodes.bodies import NodesActionResult
from precast.wire.nodes.policy import (
    MAX_WINDOWS,
    Enforce,
    NodesPolicy,
    Policy,
    PolicyView,
    SignedPolicy,
    parse_window,
    policy_text,
    signed_bytes,
)

# As long as a node's certificate: a node without contact to a server for this time runs in no-op mode.
VALID_FOR = timedelta(days=30)
BATCH = 500


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
        authority: LoadedAuthority,
    ) -> None:
        self._database, self._policies, self._nodes, self._known = database, policies, nodes, known
        self._targets, self._audit, self._authority = targets, audit, authority

    async def set(self, body: NodesPolicy, actor: str) -> NodesActionResult:
        """Set the policy of nodes. Raises InputError POLICY-001, POLICY-002, and what resolving targets raises."""
        texts.check("the reason", body.why)
        windows = _parse_windows(body)
        resolved = await self._targets.resolve(body.nodes)
        changed: list[str] = []
        for start in range(0, len(resolved.names), BATCH):
            names = resolved.names[start : start + BATCH]
            changed += await self._database.write(self._set, names, body, windows, actor)
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

    async def sign(self, node: str, known: int) -> tuple[int, bytes | None]:
        """Return the serial of a node's policy and the signed document; None for the document if the node has that serial.

        Raises NotFoundError POLICY-003.
        """
        policy = await self._database.read(self._policies.find, node)
        if policy is None:
            raise issues.NO_POLICY.error(node=node)
        return policy.serial, None if policy.serial == known else msgspec.json.encode(self._sign(policy))

    def _sign(self, policy: StoredPolicy) -> SignedPolicy:
        now = self._database.clock.now()
        enforce = cast(Enforce, policy.enforce)
        text = policy_text(Policy(policy.node, policy.serial, enforce, policy.windows, now, now + VALID_FOR))
        signature = self._authority.newest().sign_document(signed_bytes(text))
        return SignedPolicy(text, base64.b64encode(signature).decode())

    def _set(self, names: Sequence[str], body: NodesPolicy, windows: list[str], actor: str) -> Transaction[list[str]]:
        changed = []
        for name in names:
            if not (yield from self._nodes.is_active(name)):
                continue
            if (yield from self._policies.set_policy(name, body.enforce, windows, actor)):
                changed.append(name)
                detail = {"enforce": body.enforce, "windows": windows, "why": body.why}
                yield from self._audit.add(actor, "node.policy", name, **detail)
        return changed

    def _show(self, node: str) -> Transaction[tuple[StoredPolicy | None, bool]]:
        policy = yield from self._policies.find(node)
        return policy, policy is not None or (yield from self._known.find(node)) is not None


def _parse_windows(body: NodesPolicy) -> list[str]:
    """Parse the windows into their canonical form. Raises InputError POLICY-001, POLICY-002."""
    windows = [str(parse_window(window)) for window in body.windows[: MAX_WINDOWS + 1]]
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
