"""What is known of nodes, from all tables that know something, in one snapshot: to list them and to choose among them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from precast.services.facts.briefs import KeptBrief, asked_for, make_brief
from precast.services.query.matching import Test
from precast.services.query.reports import outcome_of
from precast.services.query.resources import ResourceSearch
from precast.store.catalogs import SERVING, Release, Staged, reading_staged
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts import views as fact_views
from precast.store.facts.views import StoredFacts
from precast.store.nodes.nodes import Fleet, Node
from precast.store.query.resource_index import CatalogIndex
from precast.store.reports.views import reading_latest
from precast.store.sessions.sessions import Presence, Sessions
from precast.wire.facts import merge
from precast.wire.identity.names import is_name
from precast.wire.nodes.bodies import NodeRow
from precast.wire.query.targets import Has
from precast.wire.reports.views import ReportRow

# Of a node in one word, the first that fits; `state_of` says when.


class Parts(NamedTuple):
    """What of nodes is read besides what is always known."""

    facts: frozenset[str] = frozenset()  # paths
    served: bool = False
    staged: bool = False
    report: bool = False


class More(NamedTuple):
    """What is known of a node only if it was asked for: what it is served, what is staged for it, its last run."""

    served: Release | None = None
    staged: Staged | None = None
    report: ReportRow | None = None


class KnownNode:
    """A node as targets see it. Facts are read from their JSON only if somebody asks for them."""

    def __init__(
        self,
        node: Node,
        presence: Presence | None,
        facts_at: datetime | None,
        stored: StoredFacts | None,
        now: datetime,
        more: "More | None" = None,
    ) -> None:
        self._node = node
        self.presence = presence
        self._facts_at = facts_at
        self._stored = stored
        self._now = now
        more = more or More()
        self.served, self.staged, self.report = more.served, more.staged, more.report
        self.name = node.name
        self.role = node.role
        self.environment = node.environment
        self.extensions = node.extensions
        self.is_active = node.deactivated_at is None
        self.state = state_of(node, presence, now)

    @property
    def catalog(self) -> str:
        """One word for its catalog."""
        if self.staged is None:
            return "none" if self.served is None else "released"
        if self.staged.digest is None:
            return "error"
        if self.served is None:
            return "staged"
        return "released" if self.served.digest == self.staged.digest else "newer"

    @property
    def outcome(self) -> str:
        """One word for how its last run went, the worst that is true."""
        return "none" if self.report is None else outcome_of(self.report)

    @property
    def report_age_s(self) -> float | None:
        """How long ago its last run began, by the node's clock."""
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
            environment=node.environment,
            role=node.role,
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


# A brief that was made: node, digest of the facts, JSON.
_Made = tuple[str, str, bytes]


class KnownNodes:
    """Reads them, a page at a time."""

    def __init__(self, database: Database, fleet: Fleet, sessions: Sessions) -> None:
        self._database = database
        self._fleet = fleet
        self._sessions = sessions
        self._resources = ResourceSearch(database, CatalogIndex(database))

    async def holding(self, terms: Iterable[Has]) -> dict[Has, Test]:
        """What decides whether a node's released catalog holds what is asked for. Raises UnavailableError QUERY-001."""
        return {one: await self._resources.holding(one.resource) for one in terms}

    async def page(self, after: str, limit: int, wanted: Parts = Parts()) -> list[KnownNode]:  # noqa: B008 - immutable
        """Nodes by name, from after one on; empty at the end. Briefs of facts that had to be read whole are kept."""
        nodes, made = await self._database.read(self._paging, after, limit, wanted)
        if made:
            await self._database.write(fact_views.storing_briefs, made)
        return nodes

    def showing(self, name: str) -> Transaction[KnownNode | None]:
        """One node, without its facts."""
        node = yield from self._fleet.showing(name)
        if node is None:
            return None
        presence = yield from self._sessions.showing(name)
        facts_at = yield from fact_views.reading_time(name)
        return KnownNode(node, presence, facts_at, None, self._database.clock.now())

    async def named(self, names: list[str]) -> list[KnownNode]:
        """The nodes of these names, in their order, without facts; those that are gone by now are left out."""
        return await self._database.read(self._naming, names)

    def _naming(self, names: list[str]) -> Transaction[list[KnownNode]]:
        found = []
        for name in names:
            known = yield from self.showing(name)
            if known is not None:
                found.append(known)
        return found

    async def unknown(self, names: list[str], *, deactivated: bool) -> list[str]:
        """Which of the names are none of a node that may be asked for."""
        # What cannot be a name is asked of no database: PostgreSQL refuses some texts.
        known = await self._database.read(self._fleet.knowing, [name for name in names if is_name(name)], deactivated)
        return [name for name in names if name not in known]

    def _paging(self, after: str, limit: int, wanted: Parts) -> Transaction[tuple[list[KnownNode], list[_Made]]]:
        nodes = yield from self._fleet.listing(after, limit)
        if not nodes:
            return [], []
        until = nodes[-1].name
        presences = yield from self._sessions.presences(after, until, limit)
        times = yield from fact_views.reading_times(after, until, limit)
        stored, made = (yield from _reading_facts(after, until, limit, wanted.facts)) if wanted.facts else ({}, [])
        more = yield from _reading_more([one.name for one in nodes], wanted)
        now = self._database.clock.now()
        return [
            KnownNode(one, presences.get(one.name), times.get(one.name), stored.get(one.name), now, more.get(one.name))
            for one in nodes
        ], made


def _reading_facts(
    after: str, until: str, limit: int, paths: frozenset[str]
) -> Transaction[tuple[dict[str, StoredFacts], list[_Made]]]:
    """Facts in which these paths can be looked up: in short where that is enough, else whole; and briefs that were made."""
    found: dict[str, StoredFacts] = {}
    whole: dict[str, bool] = {}  # by name: whether its brief is missing
    for node, kept in (yield from fact_views.reading_briefs(after, until, limit)).items():
        if kept is None:
            whole[node] = True
            continue
        brief = msgspec.json.decode(kept[0], type=KeptBrief)
        if brief.answers(paths):
            found[node] = StoredFacts(asked_for(bytes(brief.facts), paths), asked_for(kept[1], paths))
        else:
            whole[node] = False
    read = (yield from fact_views.reading_some(sorted(whole))) if whole else {}
    made = [
        (node, one.digest, msgspec.json.encode(make_brief(one.stable))) for node, one in read.items() if whole[node]
    ]
    return found | {
        node: StoredFacts(asked_for(one.stable, paths), asked_for(one.volatile, paths)) for node, one in read.items()
    }, made


def _reading_more(names: list[str], wanted: Parts) -> Transaction[dict[str, More]]:
    if not (wanted.served or wanted.staged or wanted.report):
        return {}
    served = dict(zip(names, (yield from SERVING.finding_each(names)), strict=True)) if wanted.served else {}
    staged = (yield from reading_staged(names)) if wanted.staged else {}
    reports = (yield from reading_latest(names)) if wanted.report else {}
    return {name: More(served.get(name), staged.get(name), reports.get(name)) for name in names}


def state_of(node: Node, presence: Presence | None, now: datetime) -> str:
    """One word for how a node is."""
    if node.deactivated_at is not None:
        return "deactivated"
    if node.certified_until is None:
        return "revoked"
    if presence is not None and presence.server is not None:
        return "connected"
    if node.certified_until <= now:
        return "expired"
    return "away" if presence is not None else "new"


def _decode(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])
