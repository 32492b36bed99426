"""The operations of operators on nodes: show, classify, choose among machines, deactivate, reactivate, purge.

An operation concerns many nodes. It runs in transactions of a batch of nodes each, with their entries in the audit log, so a node is
changed completely or not at all. Operations are idempotent: a client that lost its connection repeats the call, and nodes that are
already in the desired state are skipped.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from precast.base.errors import PrecastError
from precast.lang.trusted_data import trusted_data
from precast.services import texts
from precast.services.exports.nodes import NodeExports
from precast.services.issues import NO_SUCH_NODE
from precast.services.nodes import issues
from precast.services.nodes.classification import Classifier, check
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.sessions.machines import MachineService
from precast.services.sessions.orders import STREAM_PREFIX, OrderService
from precast.store.actions.actions import delete_node_actions
from precast.store.catalogs.catalogs import delete_node_catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts import views as fact_views
from precast.store.facts.facts import Facts
from precast.store.futures import standing_values
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.jobs.attempts import purge_node_attempts
from precast.store.nodes import policies
from precast.store.nodes.classification import ClassificationValues, SourceClassification
from precast.store.nodes.nodes import Fleet
from precast.store.plans.runs import delete_node_successes
from precast.store.query import fleet_answers
from precast.store.queue.queue import WorkQueue
from precast.store.reports import reports
from precast.store.secrets.source_documents import delete_node_reads
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams
from precast.store.traces import remove_waiter
from precast.wire.identity.names import is_name
from precast.wire.nodes.bodies import (
    CertificateView,
    Classification,
    NodeRow,
    NodesAction,
    NodesActionResult,
    NodesClassification,
    NodesPurge,
    NodeView,
    SourceView,
    TargetsBody,
)
from precast.wire.nodes.presence import MachineChoice, NodeMachines, SessionView

# Nodes in one transaction: few enough that other writers do not wait long.
BATCH = 100
MAX_CERTIFICATES = 100
PAGE = 500
# How long a purge waits for connections to close that a deactivation ends.
DISCONNECT_S = 10.0
RETRY_EVERY_S = 0.2

# Changes one node; returns whether there was something to change.
NodeOperation = Callable[[str], Transaction[bool]]


class NodeService:
    """Shows and changes nodes; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        nodes: NodeCertificates,
        known: KnownNodes,
        targets: TargetService,
        facts: Facts,
        sessions: Sessions,
        streams: Streams,
        orders: OrderService,
        work: WorkQueue,
        audit: AuditLog,
        classifier: Classifier,
        exports: NodeExports,
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
        self._exports = exports
        self._machines = MachineService(database, sessions, audit)

    async def list_page(self, after: str) -> list[NodeRow]:
        """List a page of all nodes by name, deactivated ones too."""
        return [node.row for node in await self._known.read_page(after, PAGE)]

    async def show(self, name: str) -> NodeView:
        """Show what is known about one node. Raises NotFoundError NODE-001."""
        view = await self._database.read(self._show, name) if is_name(name) else None
        if view is None:
            raise NO_SUCH_NODE.error(node=name[:80])
        return view

    async def classify(self, body: NodesClassification, actor: str) -> NodesActionResult:
        """Set the operator's classification of nodes. Raises InputError NODE-002 and what resolving targets raises."""
        check(given_values(body.values))
        return await self._apply(body.nodes, lambda node: self._classify(node, body.values, actor))

    async def deactivate(self, body: NodesAction, actor: str) -> NodesActionResult:
        """Deactivate nodes: they are no longer targets, and their certificates are refused. Facts and history stay."""
        texts.check("the reason", body.why)
        return await self._apply(body.nodes, lambda node: self._deactivate(node, body.why, actor))

    async def reactivate(self, body: NodesAction, actor: str) -> NodesActionResult:
        """Reactivate nodes that were deactivated."""
        texts.check("the reason", body.why)
        targets = msgspec.structs.replace(body.nodes, deactivated=True)
        return await self._apply(targets, lambda node: self._reactivate(node, body.why, actor))

    async def collect(self, body: NodesAction, actor: str) -> NodesActionResult:
        """Order nodes to collect and send their facts; a disconnected node does so when it reconnects."""
        texts.check("the reason", body.why)
        return await self._apply(body.nodes, lambda node: self._orders.order_facts(node, actor, body.why))

    async def choose_machine(self, node: str, choice: MachineChoice, actor: str) -> NodeMachines:
        """Choose the machine that is a node, if several use its certificate. Raises what `MachineService.choose` raises."""
        return await self._machines.choose(node, choice, actor)

    async def purge(self, body: NodesPurge, actor: str) -> NodesActionResult:
        """Delete nodes with their facts, history, sessions and certificates.

        Raises ConflictError NODE-003 for an active node, unless forced: then it is deactivated first, so that its connection
        ends. Raises NODE-004 for a node that stays connected: the certificate of an open connection must not be deleted. Batches
        before the failing one stay purged.
        """
        texts.check("the reason", body.why)
        resolved = await self._targets.resolve(msgspec.structs.replace(body.nodes, deactivated=True))
        if body.force:
            await self._apply_to_names(resolved.names, lambda node: self._deactivate(node, body.why, actor))
        changed = await self._apply_to_names(
            resolved.names, lambda node: self._purge(node, body.why, actor), retry_s=DISCONNECT_S
        )
        return NodesActionResult(changed, resolved.rests_on_claims)

    async def _apply(self, targets: TargetsBody, operation: NodeOperation) -> NodesActionResult:
        resolved = await self._targets.resolve(targets)
        return NodesActionResult(await self._apply_to_names(resolved.names, operation), resolved.rests_on_claims)

    async def _apply_to_names(self, names: Sequence[str], operation: NodeOperation, retry_s: float = 0.0) -> list[str]:
        """Apply an operation in batches; returns the changed nodes. Retries a batch in which a node is connected for `retry_s`."""
        changed: list[str] = []
        started_s = self._database.clock.monotonic_s()
        for start in range(0, len(names), BATCH):
            while True:
                try:
                    changed += await self._database.write(_apply_to_batch, names[start : start + BATCH], operation)
                    break
                except PrecastError as error:
                    is_late = self._database.clock.monotonic_s() - started_s >= retry_s
                    if not issues.STILL_CONNECTED.matches(error) or is_late:
                        raise
                await asyncio.sleep(RETRY_EVERY_S)
        return changed

    def _show(self, name: str) -> Transaction[NodeView | None]:
        known = yield from self._known.find(name)
        if known is None:
            return None
        certificates = yield from self._fleet.list_certificates(name, MAX_CERTIFICATES)
        stored = yield from self._facts.find_stored(name)
        current = yield from self._fleet.find_classification(name)
        return NodeView(
            node=known.row,
            trusted=trusted_data(known.name, known.extensions),
            certificates=[msgspec.convert(row, CertificateView, from_attributes=True) for row in certificates],
            session=msgspec.convert(known.presence, SessionView, from_attributes=True) if known.presence else None,
            decision=stored.decision if stored else None,
            classes=current.classes if current else {},
            parameters=current.parameters if current else {},
            sources=[_source(entry) for entry in (yield from self._classifier.list_sources(name))],
            machines=(yield from self._machines.view(name)).machines,
        )

    def _classify(self, node: str, values: Classification, actor: str) -> Transaction[bool]:
        current = yield from self._fleet.find_classification(node)
        if current is None or not current.is_active:
            return False
        changed = yield from self._classifier.set_by_operator(node, values)
        if not changed:
            return False
        before, after = ({name: change[when] for name, change in changed.items()} for when in ("before", "after"))
        yield from self._audit.add(actor, "node.classify", node, before=before, after=after)
        return True

    def _deactivate(self, node: str, why: str, actor: str) -> Transaction[bool]:
        if not (yield from self._fleet.deactivate(node)):
            return False
        yield from self._exports.withdraw(node)
        yield from standing_values.delete_of_node(node)
        yield from self._audit.add(actor, "node.deactivate", node, why=why)
        return True

    def _reactivate(self, node: str, why: str, actor: str) -> Transaction[bool]:
        if not (yield from self._nodes.reactivate(node)):
            return False
        yield from self._exports.restore(node)
        yield from self._audit.add(actor, "node.reactivate", node, why=why)
        return True

    def _purge(self, node: str, why: str, actor: str) -> Transaction[bool]:
        current = yield from self._fleet.find_classification(node)
        if current is None:
            return False
        if current.is_active:
            raise issues.STILL_ACTIVE.error(node=node)
        presence = yield from self._sessions.find_presence(node)
        if presence is not None and presence.server is not None:
            raise issues.STILL_CONNECTED.error(node=node, server=presence.server)
        for kind in self._work.kinds:
            yield from self._work.drop_item(kind, node)
        yield from fact_views.delete_node_facts(node)
        yield from reports.delete_node_reports(node)
        yield from remove_waiter(node)
        yield from self._exports.delete_node(node)
        yield from fleet_answers.delete_node(node)
        yield from delete_node_catalogs(node)
        yield from delete_node_reads(node)
        yield from policies.delete_policy(node)
        yield from purge_node_attempts(node, self._database.clock.now())
        yield from standing_values.delete_of_node(node)
        yield from delete_node_successes(node)
        yield from delete_node_actions(node)
        yield from self._classifier.delete(node)
        yield from self._sessions.delete_node(node)
        yield from self._streams.delete(STREAM_PREFIX + node)
        yield from self._fleet.delete(node)
        yield from self._audit.add(actor, "node.purge", node, why=why)
        return True


def given_values(values: Classification) -> ClassificationValues:
    """The values that an operator gives, without those that are left unchanged."""
    return msgspec.convert(
        {name: value for name, value in msgspec.to_builtins(values).items() if value is not None}, ClassificationValues
    )


def _source(entry: SourceClassification) -> SourceView:
    values = entry.values
    return SourceView(
        entry.source,
        entry.detail,
        values.environment,
        values.role,
        values.classes,
        values.parameters,
        entry.said_at,
        entry.problem,
        entry.problem_at,
    )


def _apply_to_batch(names: Sequence[str], operation: NodeOperation) -> Transaction[list[str]]:
    changed: dict[str, bool] = {}
    for name in names:
        changed[name] = yield from operation(name)
    return [name for name, is_changed in changed.items() if is_changed]
