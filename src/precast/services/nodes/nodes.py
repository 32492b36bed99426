"""Nodes as operators see and treat them: shown, classified, deactivated, forgotten.

A deed concerns many nodes. It happens in transactions of some nodes each, with their entries in the audit log: a node is
treated wholly or not at all. Whoever is cut off asks again; nodes that are as wanted already are left alone.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from precast.base.errors import PrecastError
from precast.services import issues, texts
from precast.services.identity.trusted import trusted
from precast.services.nodes.classification import Classifier, check
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.sessions.sessions import PREFIX, SessionService
from precast.store import catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts import views as fact_views
from precast.store.facts.facts import Facts
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Nodes
from precast.store.jobs import runs
from precast.store.nodes import policies
from precast.store.nodes.classification import Said, Saying
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.store.reports import reports
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams
from precast.store.traces import resting
from precast.wire.identity.names import is_name
from precast.wire.nodes.bodies import (
    CertificateView,
    Classification,
    NodeRow,
    NodesClassification,
    NodesDeed,
    NodesDone,
    NodesPurge,
    NodeView,
    SourceView,
    TargetsBody,
)
from precast.wire.nodes.presence import SessionView

# Nodes treated in one transaction: others need not wait long for their turn.
BATCH = 100
CERTIFICATES = 100
LISTED = 500
# How long a purge waits for connections to end that a deactivation has just ended.
GONE_S = 10.0
GONE_EVERY_S = 0.2

Deed = Callable[[str], Transaction[bool]]


class NodeService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        nodes: Nodes,
        known: KnownNodes,
        targets: TargetService,
        facts: Facts,
        sessions: Sessions,
        streams: Streams,
        orders: SessionService,
        work: WorkQueue,
        audit: AuditLog,
        classifier: Classifier,
    ) -> None:
        self._database = database
        self._fleet = fleet
        self._nodes = nodes
        self._known = known
        self._targets = targets
        self._facts = facts
        self._sessions = sessions
        self._streams = streams
        self._orders = orders
        self._work = work
        self._audit = audit
        self._classifier = classifier

    async def everyone(self, after: str) -> list[NodeRow]:
        """All nodes by name, also those that are deactivated; a page of them."""
        return [one.row for one in await self._known.page(after, LISTED)]

    async def show(self, name: str) -> NodeView:
        """What is known of one node. Raises NotFoundError NODE-001."""
        found = await self._database.read(self._showing, name) if is_name(name) else None
        if found is None:
            raise issues.NO_SUCH_NODE.error(node=name[:80])
        return found

    async def classify(self, body: NodesClassification, actor: str) -> NodesDone:
        """Set environment or role. Raises InputError NODE-002 and what targets raise."""
        check(said_by(body.values))
        return await self._treat(body.nodes, lambda node: self._classifying(node, body.values, actor))

    async def deactivate(self, body: NodesDeed, actor: str) -> NodesDone:
        """No targets any more, and their certificates open nothing. Facts and history stay."""
        texts.check("the reason", body.why)
        return await self._treat(body.nodes, lambda node: self._deactivating(node, body.why, actor))

    async def reactivate(self, body: NodesDeed, actor: str) -> NodesDone:
        """Undo that."""
        texts.check("the reason", body.why)
        wanted = msgspec.structs.replace(body.nodes, deactivated=True)
        return await self._treat(wanted, lambda node: self._reactivating(node, body.why, actor))

    async def collect(self, body: NodesDeed, actor: str) -> NodesDone:
        """Have nodes collect their facts and send them; those that are away when they are back."""
        texts.check("the reason", body.why)
        return await self._treat(body.nodes, lambda node: self._orders.ordering_facts(node, actor, body.why))

    async def purge(self, body: NodesPurge, actor: str) -> NodesDone:
        """Forget nodes: facts, history, sessions, certificates.

        Raises ConflictError NODE-003 at one that is active, unless forced: then it is deactivated first, so that its connection
        ends. NODE-004 at one that is still connected after a while: its certificate must not be forgotten while someone rests on
        it. What was done before that stays done.
        """
        texts.check("the reason", body.why)
        resolved = await self._targets.names(msgspec.structs.replace(body.nodes, deactivated=True))
        if body.force:
            await self._treat_names(resolved.names, lambda node: self._deactivating(node, body.why, actor))
        touched = await self._treat_names(
            resolved.names, lambda node: self._purging(node, body.why, actor), await_s=GONE_S
        )
        return NodesDone(touched, resolved.rests_on_claims)

    async def _treat(self, wanted: TargetsBody, deed: Deed) -> NodesDone:
        resolved = await self._targets.names(wanted)
        return NodesDone(await self._treat_names(resolved.names, deed), resolved.rests_on_claims)

    async def _treat_names(self, names: Sequence[str], deed: Deed, await_s: float = 0.0) -> list[str]:
        """Those that were changed. A batch in which a node is still connected is tried again for a while."""
        touched: list[str] = []
        started_s = self._database.clock.monotonic_s()
        for at in range(0, len(names), BATCH):
            while True:
                try:
                    touched += await self._database.write(_treating, names[at : at + BATCH], deed)
                    break
                except PrecastError as error:
                    is_late = self._database.clock.monotonic_s() - started_s >= await_s
                    if not issues.STILL_CONNECTED.matches(error) or is_late:
                        raise
                await asyncio.sleep(GONE_EVERY_S)
        return touched

    def _showing(self, name: str) -> Transaction[NodeView | None]:
        known = yield from self._known.showing(name)
        if known is None:
            return None
        given = yield from self._fleet.certificates(name, CERTIFICATES)
        stored = yield from self._facts.stored(name)
        said = yield from self._fleet.said(name)
        return NodeView(
            node=known.row,
            trusted=trusted(known.name, known.extensions),
            certificates=[msgspec.convert(one, CertificateView, from_attributes=True) for one in given],
            session=msgspec.convert(known.presence, SessionView, from_attributes=True) if known.presence else None,
            decision=stored.decision if stored else None,
            classes=said.classes if said else {},
            parameters=said.parameters if said else {},
            sources=[_source(one) for one in (yield from self._classifier.sources(name))],
        )

    def _classifying(self, node: str, values: Classification, actor: str) -> Transaction[bool]:
        said = yield from self._fleet.said(node)
        if said is None or not said.is_active:
            return False
        changed = yield from self._classifier.setting(node, values)
        if not changed:
            return False
        before, after = ({name: one[when] for name, one in changed.items()} for when in ("before", "after"))
        yield from self._audit.adding(actor, "node.classify", node, before=before, after=after)
        return True

    def _deactivating(self, node: str, why: str, actor: str) -> Transaction[bool]:
        if not (yield from self._fleet.deactivating(node)):
            return False
        yield from self._audit.adding(actor, "node.deactivate", node, why=why)
        return True

    def _reactivating(self, node: str, why: str, actor: str) -> Transaction[bool]:
        if not (yield from self._nodes.reactivating(node)):
            return False
        yield from self._audit.adding(actor, "node.reactivate", node, why=why)
        return True

    def _purging(self, node: str, why: str, actor: str) -> Transaction[bool]:
        said = yield from self._fleet.said(node)
        if said is None:
            return False
        if said.is_active:
            raise issues.STILL_ACTIVE.error(node=node)
        presence = yield from self._sessions.showing(node)
        if presence is not None and presence.server is not None:
            raise issues.STILL_CONNECTED.error(node=node, server=presence.server)
        for kind in self._work.kinds:
            yield from self._work.dropping(kind, node)
        yield from fact_views.forgetting(node)
        yield from reports.forgetting(node)
        yield from resting(node)
        yield from catalogs.forgetting(node)
        yield from policies.forgetting(node)
        yield from runs.forgetting(node)
        yield from self._classifier.forgetting(node)
        yield from self._sessions.forgetting(node)
        yield from self._streams.forgetting(PREFIX + node)
        yield from self._fleet.forgetting(node)
        yield from self._audit.adding(actor, "node.purge", node, why=why)
        return True


def said_by(values: Classification) -> Saying:
    """What an operator says, as a saying of its own."""
    return msgspec.convert(
        {name: value for name, value in msgspec.to_builtins(values).items() if value is not None}, Saying
    )


def _source(one: Said) -> SourceView:
    said = one.saying
    return SourceView(
        one.source,
        one.detail,
        said.environment,
        said.role,
        said.classes,
        said.parameters,
        one.said_at,
        one.problem,
        one.problem_at,
    )


def _treating(names: Sequence[str], deed: Deed) -> Transaction[list[str]]:
    touched: dict[str, bool] = {}
    for name in names:
        touched[name] = yield from deed(name)
    return [name for name, is_touched in touched.items() if is_touched]
