"""What the catalogs of nodes were compiled from, of their facts: changes elsewhere ask for nothing.

It is read from the traces. A node that nothing was decided for, or that waits for a compile, may be led elsewhere by any change: of
it nothing is known. The rows that say how a node was decided are held while its facts change, and while it is decided anew: so a
change is judged by the trace that will stand beside it, or the decision finds that the facts are others by now and comes again.
"""

from collections.abc import Sequence

from precast.services.traces.fact_paths import FactReads, read_facts
from precast.services.traces.ways import way
from precast.store.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces

# Chains whose reads are kept in memory; like nodes have the same one.
KEPT = 4_096


class ReadFacts:
    """Asks the traces; holds only a cache of what never changes."""

    def __init__(self, database: Database) -> None:
        self._catalogs, self._traces = Catalogs(database), Traces(database)
        self._known: dict[str, FactReads] = {}

    def of(self, node: str) -> Transaction[FactReads | None]:
        """What a node's catalog rests on; None if that is not known."""
        staged = (yield from self._catalogs.staged([node])).get(node)
        return None if staged is None else (yield from self._reads(staged.chain))

    def holding(self, nodes: Sequence[str]) -> Transaction[dict[str, FactReads | None]]:
        """The same for many, and it stays so until the commit."""
        chains = yield from self._catalogs.holding(nodes)
        waiting = yield from self._traces.waiting_among(nodes)
        found: dict[str, FactReads | None] = {}
        for node, chain in chains.items():
            found[node] = None if node in waiting else (yield from self._reads(chain))
        return found

    def _reads(self, chain: str) -> Transaction[FactReads | None]:
        found = self._known.get(chain)
        if found is None:
            links = yield from way(self._traces, chain)
            if links is None:
                return None
            if len(self._known) >= KEPT:
                self._known.clear()
            found = self._known[chain] = read_facts(link.question for link in links)
        return found
