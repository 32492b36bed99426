"""Queries over the fleet, in the language of targets. Whoever may see some environments only is answered from these alone."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from precast.base.clock import Clock
from precast.services.query import issues, tables
from precast.services.query.known_nodes import KnownNode, Parts
from precast.services.query.node_fields import NodeReading
from precast.services.query.reports import After, ReportReading, ReportSearch
from precast.services.query.resources import START, Held, Place, ResourceSearch
from precast.services.query.targets import TargetService, Wanted, parts_of_fields, read
from precast.store.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.query.resource_index import Resource
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.query.bodies import MAX_ROWS, QueryAnswer, QueryBody
from precast.wire.query.fields import NODE_COLUMNS, REPORT_COLUMNS, REPORTS, RESOURCE_COLUMNS, RESOURCES
from precast.wire.query.parser import parse_field, parse_query

NODE_USUAL = ("name", "state", "environment", "role", "seen_at")
REPORT_USUAL = ("node", "outcome", "at", "seconds", "mode", "reason", "failed", "changed", "pending", "id")
RESOURCE_USUAL = ("node", "type", "title")
# Of so few nodes the catalogs themselves are looked through.
FEW_NODES = 50
SENSITIVE = "(sensitive)"


class QueryService:
    """Answers queries; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        targets: TargetService,
        resources: ResourceSearch,
        catalogs: Catalogs,
        reports: ReportSearch,
    ) -> None:
        self._database, self._targets = database, targets
        self._resources, self._catalogs, self._reports = resources, catalogs, reports
        self._abouts = {"nodes": self._nodes, "resources": self._held, "reports": self._told}

    @property
    def _clock(self) -> Clock:
        return self._database.clock

    async def answer(self, body: QueryBody, environments: Sequence[str]) -> QueryAnswer:
        """A page of the answer. Raises InputError QUERY-002 to QUERY-006 and TARGET-001 to TARGET-008, UnavailableError QUERY-001."""
        ask = self._abouts.get(body.about)
        if ask is None:
            raise issues.NO_SUCH_ENTITY.error(about=body.about[:80], known=", ".join(self._abouts))
        if not 0 < body.limit <= MAX_ROWS:
            raise issues.BAD_LIMIT.error(limit=body.limit, most=MAX_ROWS)
        return await ask(body, environments)

    async def _nodes(self, body: QueryBody, environments: Sequence[str]) -> QueryAnswer:
        wanted = read(TargetsBody([body.where]) if body.where else TargetsBody(all=True))
        names = body.by or body.fields or NODE_USUAL
        columns = tables.columns_of(names, NODE_COLUMNS, _node_column)
        more = parts_of_fields([parse_field(name, NODE_COLUMNS).parts for name in names])
        found = self._visible(wanted, body.after, environments, more)
        if body.by:
            counted = ((tuple(column(node) for column in columns.values()), 1) async for node in found)
            answer = await tables.groups(names, counted, self._clock)
        else:
            answer = await tables.page(columns, ((node, node.name) async for node in found), body.limit, self._clock)
        return msgspec.structs.replace(answer, rests_on_claims=wanted.is_claim)

    async def _visible(
        self,
        wanted: Wanted,
        after: str,
        environments: Sequence[str],
        more: Parts = Parts(),  # noqa: B008 - immutable
    ) -> AsyncIterator[KnownNode]:
        async for node in self._targets.matching(wanted, after, more):
            if not environments or node.environment in environments:
                yield node

    async def _held(self, body: QueryBody, environments: Sequence[str]) -> QueryAnswer:
        await self._resources.check_whole()
        term = parse_query(body.where, RESOURCES) if body.where else None
        names = body.by or body.fields or RESOURCE_USUAL
        columns = tables.columns_of(names, RESOURCE_COLUMNS, _resource_column)
        only, is_claim = await self._only(body.nodes, environments)
        if body.by and only is None and "node" not in body.by:

            def group(resource: Resource, environment: str) -> tuple[Any, ...]:
                held = Held("", environment, resource)
                return tuple(column(held) for column in columns.values())

            return await tables.groups(names, self._resources.count(term, group, environments), self._clock)
        place = tables.read_place(body.after, Place) if body.after else START
        within = await self._few(only)
        found = (
            (held, tables.write_place(after))
            async for held, after in self._resources.held(term, place, within)
            if (only is None or held.node in only) and (not environments or held.environment in environments)
        )
        if body.by:
            counted = ((tuple(column(held) for column in columns.values()), 1) async for held, _ in found)
            answer = await tables.groups(names, counted, self._clock)
        else:
            answer = await tables.page(columns, found, body.limit, self._clock)
        return msgspec.structs.replace(answer, rests_on_claims=is_claim)

    async def _told(self, body: QueryBody, environments: Sequence[str]) -> QueryAnswer:
        term = parse_query(body.where, REPORTS) if body.where else None
        names = body.by or body.fields or REPORT_USUAL
        columns = tables.columns_of(names, REPORT_COLUMNS, ReportReading(self._clock.now()).looking_up)
        place = tables.read_place(body.after, After) if body.after else None
        only, is_claim = await self._only(body.nodes, environments)
        found = (
            (one, tables.write_place(after))
            async for one, after in self._reports.found(term, place)
            if (only is None or one.node in only) and (not environments or one.environment in environments)
        )
        if body.by:
            counted = ((tuple(column(one) for column in columns.values()), 1) async for one, _ in found)
            answer = await tables.groups(names, counted, self._clock)
        else:
            answer = await tables.page(columns, found, body.limit, self._clock)
        return msgspec.structs.replace(answer, rests_on_claims=is_claim)

    async def _only(self, nodes: TargetsBody | None, environments: Sequence[str]) -> tuple[frozenset[str] | None, bool]:
        """The nodes that are meant, None for all; and whether facts decided. A name that may not be seen looks like none."""
        if nodes is None:
            return None, False
        if not environments:
            resolved = await self._targets.names(nodes)
            return frozenset(resolved.names), resolved.rests_on_claims
        wanted = read(nodes)
        found = self._visible(wanted, "", environments)
        return frozenset([node.name async for node in found]), wanted.is_claim

    async def _few(self, only: frozenset[str] | None) -> list[str]:
        """The catalogs of a few nodes; none if there are many."""
        if only is None or len(only) > FEW_NODES:
            return []
        found = [await self._database.read(self._catalogs.served, node) for node in sorted(only)]
        return sorted({one.skeleton for one in found if one is not None}) or ["none is released"]


def _node_column(parts: tuple[str, ...]) -> Callable[[KnownNode], Any]:
    match parts:
        case ("released_at",):
            return lambda node: node.served.released_at if node.served is not None else None
        case ("seen_at" | "facts_at" | "created_at" | "certified_until",):
            return lambda node: getattr(node.row, parts[0])
    return NodeReading().looking_up(parts)


def _resource_column(parts: tuple[str, ...]) -> Callable[[Held], Any]:
    match parts:
        case ("node",):
            return lambda held: held.node
        case ("environment",):
            return lambda held: held.environment
        case ("parameters",):
            return lambda held: {**held.resource.parameters, **dict.fromkeys(held.resource.sensitive, SENSITIVE)}
        case ("type" | "title" | "exported",):
            return lambda held: getattr(held.resource, parts[0])
        case ("tag",):
            return lambda held: held.resource.tags
    path = parts[1:]
    return lambda held: SENSITIVE if path[0] in held.resource.sensitive else _at(held.resource.parameters, path)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
