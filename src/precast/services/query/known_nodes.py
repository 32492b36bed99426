"""What is known about nodes, read from all tables in one snapshot: to list nodes, and to evaluate targets."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from precast.services.facts.briefs import StoredBrief, make_brief, select_facts
from precast.services.query.predicates import Predicate
from precast.services.query.report_search import outcome_of
from precast.services.query.resource_search import ResourceSearch
from precast.store.catalogs.released import SERVED_LOOKUP, Release
from precast.store.catalogs.staged import StagedCatalog, find_staged
from precast.store.engine.database import Database
from precast.store.engine.lockstep import in_lockstep
from precast.store.engine.query import Transaction
from precast.store.facts import views as fact_views
from precast.store.facts.views import FactDocuments
from precast.store.nodes.nodes import DEFAULT_ENVIRONMENT, ROLE_EXTENSION, Fleet, Node
from precast.store.query.resource_index import ResourceIndex
from precast.store.reports.views import find_latest
from precast.store.sessions.sessions import Presence, Sessions
from precast.wire.facts import merge
from precast.wire.identity.names import is_name
from precast.wire.nodes.bodies import NodeRow
from precast.wire.query.targets import HasResource
from precast.wire.reports.views import ReportRow


class NodeParts(NamedTuple):
    """Which parts of nodes are read besides those that are always read."""

    facts: frozenset[str] = frozenset()  # paths
    served: bool = False
    staged: bool = False
    report: bool = False


class NodeDetails(NamedTuple):
    """The optional parts of a node: its served catalog, its staged catalog, the report of its last run."""

    served: Release | None = None
    staged: StagedCatalog | None = None
    report: ReportRow | None = None


class KnownNode:
    """A node as targets see it. Its facts are decoded only when they are used."""

    def __init__(
        self,
        node: Node,
        presence: Presence | None,
        facts_at: datetime | None,
        stored: FactDocuments | None,
        now: datetime,
        details: NodeDetails | None = None,
    ) -> None:
        self._node = node
        self.presence = presence
        self._facts_at = facts_at
        self._stored = stored
        self._now = now
        self.served, self.staged, self.report = details or NodeDetails()
        self.name = node.name
        self.role = node.role or node.extensions.get(ROLE_EXTENSION)
        self.environment = node.environment or DEFAULT_ENVIRONMENT
        self.extensions = node.extensions
        self.is_active = node.deactivated_at is None
        self.state = state_of(node, presence, now)

    @property
    def catalog(self) -> str:
        """The state of its catalog in one word."""
        if self.staged is None:
            return "none" if self.served is None else "released"
        if self.staged.digest is None:
            return "error"
        if self.served is None:
            return "staged"
        return "released" if self.served.digest == self.staged.digest else "newer"

    @property
    def outcome(self) -> str:
        """The outcome of its last run in one word, the worst that applies."""
        return "none" if self.report is None else outcome_of(self.report)

    @property
    def report_age_s(self) -> float | None:
        """The time since its last run began, by the node's clock."""
        return None if self.report is None else (self._now - self.report.began_at).total_seconds()

    @property
    def facts(self) -> dict[str, Any]:
        if self._stored is None:
            return {}
        return merge(_decode(self._stored.stable), _decode(self._stored.volatile))

    @property
    def row(self) -> NodeRow:
        node = self._node
        return NodeRow(
            name=node.name,
            state=self.state,
            environment=self.environment,
            role=self.role,
            created_at=node.created_at,
            deactivated_at=node.deactivated_at,
            certified_until=node.certified_until,
            facts_at=self._facts_at,
            seen_at=self._seen_at(),
        )

    def _seen_at(self) -> datetime | None:
        if self.presence is None:
            return self._facts_at
        return self._now if self.presence.server is not None else self.presence.away_since


# A new brief of facts: node, digest of the facts, JSON.
_NewBrief = tuple[str, str, bytes]


class KnownNodes:
    """Reads nodes, a page at a time."""

    def __init__(self, database: Database, fleet: Fleet, sessions: Sessions) -> None:
        self._database = database
        self._fleet = fleet
        self._sessions = sessions
        self._resources = ResourceSearch(database, ResourceIndex(database))

    async def compile_has(self, terms: Iterable[HasResource]) -> dict[HasResource, Predicate]:
        """Compile each `has` term into a predicate over the released catalogs of nodes. Raises UnavailableError QUERY-001."""
        return {term: await self._resources.compile_has(term.resource) for term in terms}

    async def read_page(
        self,
        after: str,
        limit: int,
        parts: NodeParts = NodeParts(),  # noqa: B008 - immutable
    ) -> list[KnownNode]:
        """Read the nodes that follow a name; empty at the end. New briefs of facts that had no brief are stored."""
        nodes, new_briefs = await self._database.read(self._read_page, after, limit, parts)
        if new_briefs:
            await self._database.write(fact_views.store_briefs, new_briefs)
        return nodes

    def find(self, name: str) -> Transaction[KnownNode | None]:
        """Find a node, without its facts."""
        node = yield from self._fleet.find(name)
        if node is None:
            return None
        presence = yield from self._sessions.find_presence(name)
        facts_at = yield from fact_views.find_received_time(name)
        return KnownNode(node, presence, facts_at, None, self._database.clock.now())

    async def find_all(self, names: list[str]) -> list[KnownNode]:
        """Find the nodes with these names, in this order, without facts; nodes that no longer exist are left out."""
        return await self._database.read(self._find_all, names)

    def _find_all(self, names: list[str]) -> Transaction[list[KnownNode]]:
        found = yield from in_lockstep(self.find(name) for name in names)
        return [node for node in found if node is not None]

    async def find_unknown(self, names: list[str], *, deactivated: bool) -> list[str]:
        """Find the names that no node has; with `deactivated`, names of deactivated nodes count as known."""
        # Invalid names are never sent to the database, because PostgreSQL refuses some texts.
        valid = [name for name in names if is_name(name)]
        known = await self._database.read(self._fleet.filter_known, valid, deactivated)
        return [name for name in names if name not in known]

    def _read_page(
        self, after: str, limit: int, parts: NodeParts
    ) -> Transaction[tuple[list[KnownNode], list[_NewBrief]]]:
        nodes = yield from self._fleet.list_page(after, limit)
        if not nodes:
            return [], []
        until = nodes[-1].name
        presences = yield from self._sessions.list_presences(after, until, limit)
        times = yield from fact_views.find_received_times(after, until, limit)
        facts, new_briefs = (yield from _read_facts(after, until, limit, parts.facts)) if parts.facts else ({}, [])
        details = yield from _read_details([node.name for node in nodes], parts)
        now = self._database.clock.now()
        return [
            KnownNode(
                node,
                presences.get(node.name),
                times.get(node.name),
                facts.get(node.name),
                now,
                details.get(node.name),
            )
            for node in nodes
        ], new_briefs


def _read_facts(
    after: str, until: str, limit: int, paths: frozenset[str]
) -> Transaction[tuple[dict[str, FactDocuments], list[_NewBrief]]]:
    """Read the facts at these paths, from briefs where these suffice, else from the whole fact sets; also make missing briefs."""
    documents: dict[str, FactDocuments] = {}
    whole: dict[str, bool] = {}  # by node: whether its brief is missing
    for node, stored in (yield from fact_views.read_briefs(after, until, limit)).items():
        if stored is None:
            whole[node] = True
            continue
        brief = msgspec.json.decode(stored[0], type=StoredBrief)
        if brief.has_all(paths):
            documents[node] = FactDocuments(select_facts(bytes(brief.facts), paths), select_facts(stored[1], paths))
        else:
            whole[node] = False
    read = (yield from fact_views.read_documents(sorted(whole))) if whole else {}
    new_briefs = [
        (node, facts.digest, msgspec.json.encode(make_brief(facts.stable)))
        for node, facts in read.items()
        if whole[node]
    ]
    return documents | {
        node: FactDocuments(select_facts(facts.stable, paths), select_facts(facts.volatile, paths))
        for node, facts in read.items()
    }, new_briefs


def _read_details(names: list[str], parts: NodeParts) -> Transaction[dict[str, NodeDetails]]:
    if not (parts.served or parts.staged or parts.report):
        return {}
    served = dict(zip(names, (yield from SERVED_LOOKUP.find_each(names)), strict=True)) if parts.served else {}
    staged = (yield from find_staged(names)) if parts.staged else {}
    reports = (yield from find_latest(names)) if parts.report else {}
    return {name: NodeDetails(served.get(name), staged.get(name), reports.get(name)) for name in names}


def state_of(node: Node, presence: Presence | None, now: datetime) -> str:
    """The state of a node in one word, the first that applies."""
    if node.deactivated_at is not None:
        return "deactivated"
    if node.certified_until is None:
        return "revoked"
    if presence is not None and presence.server is not None:
        return "connected"
    if node.certified_until <= now:
        return "expired"
    if presence is not None and presence.held_at is not None:
        return "held"
    return "away" if presence is not None else "new"


def _decode(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])
