"""Reads the rows of an entity, a page of nodes or resources at a time: what the server knows of the active nodes of an environment.

Sensitive parameters of resources are left out: the index does not have them. So no result contains a secret.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from precast.lang.puppetdb.queries import Query
from precast.lang.trusted_data import trusted_data
from precast.services.query.fleet.conditions import Row
from precast.services.query.fleet.lookups import find_fact_names, plan_resource_term
from precast.services.query.known_nodes import KnownNode, KnownNodes, NodeParts
from precast.services.query.resource_search import ResourceSearch, ServedResource
from precast.store.engine.database import Database
from precast.store.facts.views import FactDocuments, read_documents
from precast.wire.facts import merge

PAGE = 200
RESOURCES = 500


class FleetNode(NamedTuple):
    """A node, and all of its facts if a query reads more than those that are known with it."""

    known: KnownNode
    documents: FactDocuments | None

    @property
    def facts(self) -> dict[str, Any]:
        if self.documents is None:
            return self.known.facts
        return merge(_decode(self.documents.stable), _decode(self.documents.volatile))


RowPage = Callable[[], Iterable[Row]]


class FleetRows:
    """Reads rows; holds no state between calls."""

    def __init__(self, database: Database, nodes: KnownNodes, resources: ResourceSearch) -> None:
        self._database, self._nodes, self._resources = database, nodes, resources

    async def read(self, query: Query, environment: str) -> AsyncIterator[RowPage]:
        """Yield the rows that can match a query over an entity; of all environments if none is named.

        A page of rows is made when it is called: that takes time, and belongs into a thread. Raises UnavailableError QUERY-001 while a
        released catalog is not indexed, InputError QUERY-005.
        """
        if query.entity == "resources":
            async for resources in self._read_resources(query, environment):
                yield partial(map, _resource_row, resources)
            return
        make = _MAKERS[query.entity]
        async for nodes in self._read_nodes(find_fact_names(query), environment):
            yield partial(_make_rows, make, nodes)

    async def _read_resources(self, query: Query, environment: str) -> AsyncIterator[list[ServedResource]]:
        await self._resources.check_complete()
        active = {node.known.name async for nodes in self._read_nodes(frozenset(), environment) for node in nodes}
        page: list[ServedResource] = []
        async for served, _ in self._resources.find(plan_resource_term(query.where)):
            if served.node in active:
                page.append(served)
            if len(page) == RESOURCES:
                yield page
                page = []
        yield page

    async def _read_nodes(self, names: frozenset[str] | None, environment: str) -> AsyncIterator[list[FleetNode]]:
        """Yield active nodes with these facts, or with all of them."""
        after, parts = "", NodeParts(facts=names or frozenset())
        while page := await self._nodes.read_page(after, PAGE, parts):
            after = page[-1].name
            active = [node for node in page if node.is_active and environment in ("", node.environment)]
            if names is not None:
                yield [FleetNode(node, None) for node in active]
                continue
            documents = await self._database.read(read_documents, [node.name for node in active])
            yield [FleetNode(node, documents[node.name]) for node in active if node.name in documents]


def _make_rows(make: Callable[[FleetNode], Iterable[Row]], nodes: list[FleetNode]) -> Iterator[Row]:
    return (row for node in nodes for row in make(node))


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


def _content_rows(node: FleetNode) -> Iterator[Row]:
    certname, environment = node.known.name, node.known.environment
    for name, value in node.facts.items():
        for path, leaf in _leaves([name], value):
            yield {"certname": certname, "environment": environment, "name": name, "path": path, "value": leaf}


_MAKERS: dict[str, Callable[[FleetNode], Iterable[Row]]] = {
    "nodes": _node_rows,
    "inventory": _inventory_rows,
    "facts": _fact_rows,
    "fact_contents": _content_rows,
}


def _about(node: FleetNode) -> Row:
    return {"certname": node.known.name, "environment": node.known.environment}


def _leaves(path: list[str | int], value: Any) -> Iterator[tuple[list[str | int], Any]]:
    """The values inside a fact that are no hashes and arrays, each with its path."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves([*path, key], item)
    else:
        yield path, value


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
