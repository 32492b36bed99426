"""Finds out which facts the catalogs of a node were compiled from: a change of other facts leads to no compile.

The traces say so: that of the node's own catalog, and those of the entry points that are wanted for it. For a node without a staged
catalog, or with a compile under way, nothing is known: any change may lead to another catalog. The rows of a node's staged catalog are
locked while its facts change and while its catalogs are decided upon. So a change is judged by the traces that are stored beside it, or the
compiler finds that the facts have changed and decides again.
"""

from collections.abc import Sequence
from typing import Protocol

from precast.lang.inputs import Question
from precast.services.traces.fact_paths import FactReads, read_facts
from precast.services.traces.paths import read_path
from precast.store.catalogs.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces

# Sets of chains whose reads are cached; nodes of one kind have the same chains.
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
        self._cached: dict[tuple[str, ...], FactReads] = {}

    def of(self, node: str) -> Transaction[FactReads | None]:
        """The facts that a node's catalogs were compiled from; None if that is not known."""
        staged = (yield from self._catalogs.staged.find([node])).get(node)
        if staged is None:
            return None
        entries = yield from self._catalogs.entries.find_chains([node])
        return (yield from self._reads([staged.chain, *entries.get(node, ())]))

    def lock_reads(self, nodes: Sequence[str]) -> Transaction[dict[str, FactReads | None]]:
        """The facts that the catalogs of each node were compiled from; None if that is not known, or if the node waits for a compile.

        The rows of the staged catalogs are locked until the commit; those of entry points change only together with them.
        """
        chains = yield from self._catalogs.staged.lock_chains(nodes)
        entries = yield from self._catalogs.entries.find_chains(nodes)
        waiting = {*(yield from self._traces.find_branches(nodes))}
        waiting |= {waiter.node for waiter in (yield from self._traces.find_entry_branches(nodes))}
        reads: dict[str, FactReads | None] = {}
        for node, chain in chains.items():
            reads[node] = None if node in waiting else (yield from self._reads([chain, *entries.get(node, ())]))
        return reads

    def _reads(self, chains: Sequence[str]) -> Transaction[FactReads | None]:
        """What these chains have read together; None if one of them no longer exists."""
        key = tuple(sorted(set(chains)))
        reads = self._cached.get(key)
        if reads is None:
            questions: list[Question] = []
            for chain in key:
                links = yield from read_path(self._traces, chain)
                if links is None:
                    return None
                questions += (link.question for link in links)
            if len(self._cached) >= MAX_CACHED:
                self._cached.clear()
            reads = self._cached[key] = read_facts(questions)
        return reads
