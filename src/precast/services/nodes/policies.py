"""What the agents of nodes may do by themselves: operators set it, the authority signs it, nodes fetch it.

A policy is signed when it is asked for, so it is always good for the same time from then on, and a node that asks now and then is never
without one. What is signed names the node and the serial under which it was set: no other node can use it, and none takes an older
one for a newer.
"""

import base64
from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import msgspec

from precast.services import issues, texts
from precast.services.identity.authority_files import HeldAuthority
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Nodes
from precast.store.nodes.policies import Policies, StoredPolicy
from precast.wire.nodes.bodies import NodesDone
from precast.wire.nodes.policy import (
    MAX_WINDOWS,
    Enforce,
    NodesPolicy,
    Policy,
    PolicyView,
    SignedPolicy,
    parse_window,
    signed_bytes,
    text_of,
)

# As long as a node's certificate: a node that hears from nobody for so long only looks.
GOOD_FOR = timedelta(days=30)
BATCH = 500


class PolicyService:
    """Sets, shows and signs policies; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        policies: Policies,
        nodes: Nodes,
        known: KnownNodes,
        targets: TargetService,
        audit: AuditLog,
        authority: HeldAuthority,
    ) -> None:
        self._database, self._policies, self._nodes, self._known = database, policies, nodes, known
        self._targets, self._audit, self._authority = targets, audit, authority

    async def set(self, body: NodesPolicy, actor: str) -> NodesDone:
        """Set what agents may do. Raises InputError POLICY-001, POLICY-002, and what targets raise."""
        texts.check("the reason", body.why)
        windows = _windows(body)
        resolved = await self._targets.names(body.nodes)
        touched: list[str] = []
        for at in range(0, len(resolved.names), BATCH):
            names = resolved.names[at : at + BATCH]
            touched += await self._database.write(self._setting, names, body, windows, actor)
        return NodesDone(touched, resolved.rests_on_claims)

    async def show(self, node: str) -> PolicyView:
        """A node's policy. Raises NotFoundError NODE-001."""
        found, is_known = await self._database.read(self._showing, node)
        if not is_known:
            raise issues.NO_SUCH_NODE.error(node=node[:100])
        if found is None:
            return PolicyView(node)
        return PolicyView(node, cast(Enforce, found.enforce), found.windows, found.serial, found.set_by, found.set_at)

    async def sign(self, node: str, known: int) -> tuple[int, bytes | None]:
        """The serial of a node's policy and the signed document, unless the node knows that one. Raises NotFoundError POLICY-003."""
        found = await self._database.read(self._policies.showing, node)
        if found is None:
            raise issues.NO_POLICY.error(node=node)
        return found.serial, None if found.serial == known else msgspec.json.encode(self._signed(found))

    def _signed(self, found: StoredPolicy) -> SignedPolicy:
        now = self._database.clock.now()
        enforce = cast(Enforce, found.enforce)
        text = text_of(Policy(found.node, found.serial, enforce, found.windows, now, now + GOOD_FOR))
        signature = self._authority.newest().sign_document(signed_bytes(text))
        return SignedPolicy(text, base64.b64encode(signature).decode())

    def _setting(
        self, names: Sequence[str], body: NodesPolicy, windows: list[str], actor: str
    ) -> Transaction[list[str]]:
        touched = []
        for name in names:
            if not (yield from self._nodes.knowing(name)):
                continue
            if (yield from self._policies.setting(name, body.enforce, windows, actor)):
                touched.append(name)
                detail = {"enforce": body.enforce, "windows": windows, "why": body.why}
                yield from self._audit.adding(actor, "node.policy", name, **detail)
        return touched

    def _showing(self, node: str) -> Transaction[tuple[StoredPolicy | None, bool]]:
        found = yield from self._policies.showing(node)
        return found, found is not None or (yield from self._known.showing(node)) is not None


def _windows(body: NodesPolicy) -> list[str]:
    """The windows in one way of writing. Raises InputError POLICY-001, POLICY-002."""
    windows = [str(parse_window(one)) for one in body.windows[: MAX_WINDOWS + 1]]
    problem = ""
    if len(windows) > MAX_WINDOWS:
        problem = f"{len(body.windows)} windows are too many"
    elif body.enforce == "window" and not windows:
        problem = "nothing says when the window is"
    elif body.enforce in ("never", "always") and windows:
        problem = f"{body.enforce} and a window exclude each other"
    if problem:
        raise issues.WINDOWS_NEEDED.error(problem=problem, limit=MAX_WINDOWS)
    return windows
