"""Finds out which facts the catalog of a node was compiled from: a change of other facts leads to no compile.

The traces say so. For a node without a staged catalog, or with a compile under way, nothing is known: any change may lead to another
catalog. The rows of a node's staged catalog are locked while its facts change and while its catalog is decided upon. So a change is
judged by the trace that is stored beside it, or the compiler finds that the facts have changed and decides again.
"""

from collections.abc import Sequence
from typing import Protocol

from precast.services.traces.fact_paths import FactReads, read_facts
from precast.services.traces.paths import read_path
from precast.store.catalogs.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces

# Chains whose reads are cached; nodes of one kind have the same chain.
MAX_CACHED = 4_096


class CatalogReads(Protocol):
    """Knows which facts the catalogs of nodes were compiled from; None where that is not known."""

    def of(self, node: str) -> Transaction[FactReads | None]:
        """The facts that a node's catalog was compiled from."""

    def lock_reads(self, nodes: Sequence[str]) -> Transaction[dict[str, FactReads | None]]:
        """The facts that the catalog of each node was compiled from. Their staged catalogs are locked until the commit."""


class TracedReads:
    """Reads the traces; holds only a cache of chains, which never change."""

    def __init__(self, database: Database) -> None:
        self._catalogs, self._traces = Catalogs(database), Traces(database)
        self._cached: dict[str, FactReads] = {}

    def of(self, node: str) -> Transaction[FactReads | None]:
        """The facts that a node's catalog was compiled from; None if that is not known."""
        staged = (yield from self._catalogs.staged.find([node])).get(node)
        return None if staged is None else (yield from self._reads(staged.chain))

    def lock_reads(self, nodes: Sequence[str]) -> Transaction[dict[str, FactReads | None]]:
        """The facts that the catalog of each node was compiled from; None if that is not known, or if the node waits for a compile.

        The rows of the staged catalogs are locked until the commit.
        """
        chains = yield from self._catalogs.staged.lock_chains(nodes)
        waiting = yield from self._traces.find_branches(nodes)
        reads: dict[str, FactReads | None] = {}
        for node, chain in chains.items():
            reads[node] = None if node in waiting else (yield from self._reads(chain))
        return reads

    def _reads(self, chain: str) -> Transaction[FactReads | None]:
        reads = self._cached.get(chain)
        if reads is None:
            links = yield from read_path(self._traces, chain)
            if links is None:
                return None
            if len(self._cached) >= MAX_CACHED:
                self._cached.clear()
            reads = self._cached[chain] = read_facts(link.question for link in links)
        return reads
