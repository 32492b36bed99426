"""Reads the rows of an entity, a page of nodes or resources at a time: what the server knows of the active nodes of an environment.

Sensitive parameters of resources are left out: the index does not have them. So no result contains a secret.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import msgspec

from precast.lang.puppetdb.queries import Query
from precast.lang.trusted_data import trusted_data
from precast.services.query.fleet.conditions import Row
from precast.services.query.fleet.lookups import find_fact_names, plan_resource_term
from precast.services.query.known_nodes import KnownNode, KnownNodes, NodeParts
from precast.services.query.resource_search import ResourceSearch, ServedResource
from precast.store.engine.database import Database
from precast.store.facts.views import read_documents
from precast.wire.facts import merge

PAGE = 200
RESOURCES = 500


class FleetNode(NamedTuple):
    """A node with those of its facts that a query reads."""

    known: KnownNode
    facts: dict[str, Any]


class FleetRows:
    """Reads rows; holds no state between calls."""

    def __init__(self, database: Database, nodes: KnownNodes, resources: ResourceSearch) -> None:
        self._database, self._nodes, self._resources = database, nodes, resources

    async def read(self, query: Query, environment: str) -> AsyncIterator[list[Row]]:
        """Yield the rows that can match a query over an entity; of all environments if none is named.

        Raises UnavailableError QUERY-001 while a released catalog is not indexed, InputError QUERY-005.
        """
        if query.entity == "resources":
            async for rows in self._read_resources(query, environment):
                yield rows
            return
        make = _MAKERS[query.entity]
        async for nodes in self._read_nodes(find_fact_names(query), environment):
            yield [row for node in nodes for row in make(node)]

    async def _read_resources(self, query: Query, environment: str) -> AsyncIterator[list[Row]]:
        await self._resources.check_complete()
        active = {node.known.name async for nodes in self._read_nodes(frozenset(), environment) for node in nodes}
        rows: list[Row] = []
        async for served, _ in self._resources.find(plan_resource_term(query.where)):
            if served.node in active:
                rows.append(_resource_row(served))
            if len(rows) == RESOURCES:
                yield rows
                rows = []
        yield rows

    async def _read_nodes(self, names: frozenset[str] | None, environment: str) -> AsyncIterator[list[FleetNode]]:
        """Yield active nodes with these facts, or with all of them."""
        after, parts = "", NodeParts(facts=names or frozenset())
        while page := await self._nodes.read_page(after, PAGE, parts):
            after = page[-1].name
            active = [node for node in page if node.is_active and environment in ("", node.environment)]
            if names is not None:
                yield [FleetNode(node, node.facts) for node in active]
                continue
            documents = await self._database.read(read_documents, [node.name for node in active])
            yield [
                FleetNode(node, merge(_decode(facts.stable), _decode(facts.volatile)))
                for node in active
                if (facts := documents.get(node.name)) is not None
            ]


def _node_rows(node: FleetNode) -> list[Row]:
    environment = node.known.environment
    return [
        {
            "certname": node.known.name,
            "catalog_environment": environment,
            "facts_environment": environment,
            "deactivated": None,
            "expired": None,
            "fact": node.facts,
        }
    ]


def _inventory_rows(node: FleetNode) -> list[Row]:
    trusted = trusted_data(node.known.name, node.known.extensions)
    return [{**_about(node), "facts": node.facts, "trusted": trusted}]


def _fact_rows(node: FleetNode) -> list[Row]:
    return [{**_about(node), "name": name, "value": value} for name, value in node.facts.items()]


def _content_rows(node: FleetNode) -> list[Row]:
    return [
        {**_about(node), "name": name, "path": path, "value": leaf}
        for name, value in node.facts.items()
        for path, leaf in _leaves([name], value)
    ]


_MAKERS: dict[str, Callable[[FleetNode], list[Row]]] = {
    "nodes": _node_rows,
    "inventory": _inventory_rows,
    "facts": _fact_rows,
    "fact_contents": _content_rows,
}


def _about(node: FleetNode) -> Row:
    return {"certname": node.known.name, "environment": node.known.environment}


def _leaves(path: list[str | int], value: Any) -> list[tuple[list[str | int], Any]]:
    """The values inside a fact that are no hashes and arrays, each with its path."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _leaves([*path, key], item)]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in _leaves([*path, index], item)]
    return [(path, value)]


def _resource_row(served: ServedResource) -> Row:
    resource = served.resource
    return {
        "certname": served.node,
        "environment": served.environment,
        "type": resource.type,
        "title": resource.title,
        "tags": resource.tags,
        "exported": resource.exported,
        "parameters": resource.parameters,
    }


def _decode(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])
