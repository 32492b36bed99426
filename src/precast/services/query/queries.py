"""Queries over the fleet, in the language of targets. A person whose access is limited to some environments sees only these."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from precast.base.clock import Clock
from precast.services.query import issues, results
from precast.services.query.known_nodes import KnownNode, NodeParts
from precast.services.query.node_fields import NodeFieldReader
from precast.services.query.report_search import ReportFieldReader, ReportPageCursor, ReportSearch
from precast.services.query.resource_search import FIRST_PAGE, ResourceCursor, ResourceSearch, ServedResource
from precast.services.query.targets import TargetSelection, TargetService, parse_targets, parts_of_fields
from precast.store.catalogs.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.query.resource_index import Resource
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.query.bodies import MAX_ROWS, QueryAnswer, QueryBody
from precast.wire.query.fields import NODE_COLUMNS, REPORT_COLUMNS, REPORTS, RESOURCE_COLUMNS, RESOURCES
from precast.wire.query.parser import parse_field, parse_query

NODE_DEFAULT_COLUMNS = ("name", "state", "environment", "role", "seen_at")
REPORT_DEFAULT_COLUMNS = ("node", "outcome", "at", "seconds", "mode", "reason", "failed", "changed", "pending", "id")
RESOURCE_DEFAULT_COLUMNS = ("node", "type", "title")
# For up to this many nodes, only the resources of their catalogs are read.
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
        self._entities = {
            "nodes": self._query_nodes,
            "resources": self._query_resources,
            "reports": self._query_reports,
        }

    @property
    def _clock(self) -> Clock:
        return self._database.clock

    async def answer(self, body: QueryBody, environments: Sequence[str]) -> QueryAnswer:
        """Return a page of results.

        Raises InputError QUERY-002 to QUERY-006 and TARGET-001 to TARGET-008, UnavailableError QUERY-001.
        """
        query = self._entities.get(body.about)
        if query is None:
            raise issues.NO_SUCH_ENTITY.error(about=body.about[:80], known=", ".join(self._entities))
        if not 0 < body.limit <= MAX_ROWS:
            raise issues.BAD_LIMIT.error(limit=body.limit, most=MAX_ROWS)
        return await query(body, environments)

    async def _query_nodes(self, body: QueryBody, environments: Sequence[str]) -> QueryAnswer:
        selection = parse_targets(TargetsBody([body.where]) if body.where else TargetsBody(all=True))
        names = body.by or body.fields or NODE_DEFAULT_COLUMNS
        columns = results.build_columns(names, NODE_COLUMNS, _node_column)
        details = parts_of_fields([parse_field(name, NODE_COLUMNS).parts for name in names])
        nodes = self._find_visible(selection, body.after, environments, details)
        if body.by:
            groups = ((tuple(column(node) for column in columns.values()), 1) async for node in nodes)
            answer = await results.count_groups(names, groups, self._clock)
        else:
            items = ((node, node.name) async for node in nodes)
            answer = await results.read_page(columns, items, body.limit, self._clock)
        return msgspec.structs.replace(answer, rests_on_claims=selection.is_claim)

    async def _find_visible(
        self,
        selection: TargetSelection,
        after: str,
        environments: Sequence[str],
        details: NodeParts = NodeParts(),  # noqa: B008 - immutable
    ) -> AsyncIterator[KnownNode]:
        async for node in self._targets.find(selection, after, details):
            if not environments or node.environment in environments:
                yield node

    async def _query_resources(self, body: QueryBody, environments: Sequence[str]) -> QueryAnswer:
        await self._resources.check_complete()
        term = parse_query(body.where, RESOURCES) if body.where else None
        names = body.by or body.fields or RESOURCE_DEFAULT_COLUMNS
        columns = results.build_columns(names, RESOURCE_COLUMNS, _resource_column)
        allowed, is_claim = await self._allowed_nodes(body.nodes, environments)
        if body.by and allowed is None and "node" not in body.by:

            def group(resource: Resource, environment: str) -> tuple[Any, ...]:
                served = ServedResource("", environment, resource)
                return tuple(column(served) for column in columns.values())

            return await results.count_groups(names, self._resources.count(term, group, environments), self._clock)
        cursor = results.decode_cursor(body.after, ResourceCursor) if body.after else FIRST_PAGE
        within = await self._catalogs_of_few(allowed)
        items = (
            (served, results.encode_cursor(after))
            async for served, after in self._resources.find(term, cursor, within)
            if (allowed is None or served.node in allowed) and (not environments or served.environment in environments)
        )
        if body.by:
            groups = ((tuple(column(served) for column in columns.values()), 1) async for served, _ in items)
            answer = await results.count_groups(names, groups, self._clock)
        else:
            answer = await results.read_page(columns, items, body.limit, self._clock)
        return msgspec.structs.replace(answer, rests_on_claims=is_claim)

    async def _query_reports(self, body: QueryBody, environments: Sequence[str]) -> QueryAnswer:
        term = parse_query(body.where, REPORTS) if body.where else None
        names = body.by or body.fields or REPORT_DEFAULT_COLUMNS
        columns = results.build_columns(names, REPORT_COLUMNS, ReportFieldReader(self._clock.now()).reader_for)
        cursor = results.decode_cursor(body.after, ReportPageCursor) if body.after else None
        allowed, is_claim = await self._allowed_nodes(body.nodes, environments)
        items = (
            (report, results.encode_cursor(after))
            async for report, after in self._reports.find(term, cursor)
            if (allowed is None or report.node in allowed) and (not environments or report.environment in environments)
        )
        if body.by:
            groups = ((tuple(column(report) for column in columns.values()), 1) async for report, _ in items)
            answer = await results.count_groups(names, groups, self._clock)
        else:
            answer = await results.read_page(columns, items, body.limit, self._clock)
        return msgspec.structs.replace(answer, rests_on_claims=is_claim)

    async def _allowed_nodes(
        self, targets: TargetsBody | None, environments: Sequence[str]
    ) -> tuple[frozenset[str] | None, bool]:
        """The nodes that targets select, None for all, and whether facts decided. An invisible node counts as nonexistent."""
        if targets is None:
            return None, False
        if not environments:
            resolved = await self._targets.resolve(targets)
            return frozenset(resolved.names), resolved.rests_on_claims
        selection = parse_targets(targets)
        nodes = self._find_visible(selection, "", environments)
        return frozenset([node.name async for node in nodes]), selection.is_claim

    async def _catalogs_of_few(self, nodes: frozenset[str] | None) -> list[str]:
        """The released catalogs of a few nodes; empty if there are many nodes, which means no restriction."""
        if nodes is None or len(nodes) > FEW_NODES:
            return []
        releases = [await self._database.read(self._catalogs.released.find_served, node) for node in sorted(nodes)]
        return sorted({release.skeleton for release in releases if release is not None}) or ["none is released"]


def _node_column(parts: tuple[str, ...]) -> Callable[[KnownNode], Any]:
    match parts:
        case ("released_at",):
            return lambda node: node.served.released_at if node.served is not None else None
        case ("seen_at" | "facts_at" | "created_at" | "certified_until",):
            return lambda node: getattr(node.row, parts[0])
    return NodeFieldReader().reader_for(parts)


def _resource_column(parts: tuple[str, ...]) -> Callable[[ServedResource], Any]:
    match parts:
        case ("node",):
            return lambda served: served.node
        case ("environment",):
            return lambda served: served.environment
        case ("parameters",):
            return lambda served: {**served.resource.parameters, **dict.fromkeys(served.resource.sensitive, SENSITIVE)}
        case ("type" | "title" | "exported",):
            return lambda served: getattr(served.resource, parts[0])
        case ("tag",):
            return lambda served: served.resource.tags
    path = parts[1:]
    return lambda served: (
        SENSITIVE if path[0] in served.resource.sensitive else _value_at(served.resource.parameters, path)
    )


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
