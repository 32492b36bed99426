"""Walks nodes through the trace tree of their version, and brings from the database what memory lacks."""

import asyncio
from collections.abc import Collection, Sequence

import msgspec

from precast.lang.answers import NodeData
from precast.lang.inputs import Answer, Question
from precast.services.traces.chains import Chain, Leaf, Place, decode_links
from precast.services.traces.deployment import Deployment
from precast.services.traces.forest import Forest, Grove, GroveName, NotLoaded
from precast.services.traces.versions import Versions
from precast.services.traces.walking import Found, Missing
from precast.store.engine.compression import unpack
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import ChainRow, Traces

_leaf = msgspec.json.Decoder(Leaf)


class Groves:
    """The trees of all versions in use, over the rows of the database."""

    def __init__(self, database: Database, traces: Traces, versions: Versions, deployment: Deployment) -> None:
        self._database, self._traces, self._versions = database, traces, versions
        self._deployment = deployment
        self._forest = Forest()

    async def grove(self, environment: str, version: str) -> Grove:
        name = GroveName(environment, version)
        found = self._forest.find(name)
        if found is None:
            constants = await self._deployment.constants(environment, version)
            found = Grove(environment, version, await self._versions.files(version), constants)
            self._forest.add(found)
        return found

    def forget(self, environments: Collection[str]) -> None:
        """Chains of these environments that are in memory may be no more: read them anew."""
        self._forest.drop(environments)

    async def walk(self, grove: Grove, nodes: Sequence[NodeData]) -> list[Found | Missing]:
        """Each node to its leaf, or to where the tree really ends."""
        results: dict[int, Found | Missing] = {}
        waiting = list(range(len(nodes)))
        while waiting:
            round_ = await asyncio.to_thread(_walk_all, grove, [nodes[at] for at in waiting])
            again = []
            places: dict[Place, None] = {}
            for at, result in zip(waiting, round_, strict=True):
                if isinstance(result, NotLoaded):
                    grove.load(result.digest, await self._versions.content(result.digest))
                    again.append(at)
                else:
                    results[at] = result
                    if isinstance(result, Missing):
                        places[result.place] = None
            learned = await self._learn(grove, list(places))
            # Whoever stopped at a place that is known now goes on.
            again += [at for at, result in results.items() if isinstance(result, Missing) and result.place in learned]
            waiting = sorted(set(again))
        return [results[at] for at in range(len(nodes))]

    async def ask(self, grove: Grove, node: NodeData, question: Question) -> Answer:
        """What a version answers a node to one question."""
        while True:
            try:
                return await asyncio.to_thread(grove.ask, node, question)
            except NotLoaded as wanted:
                grove.load(wanted.digest, await self._versions.content(wanted.digest))

    async def _learn(self, grove: Grove, places: Sequence[Place]) -> set[Place]:
        """Bring the chains at these places into memory; those that there are."""
        if not places:
            return set()
        rows = await self._database.read(self._finding, grove.environment, places)
        for place, row in rows.items():
            await self._take_in(grove, place, chain_of(row))
        return set(rows)

    async def _take_in(self, grove: Grove, place: Place, chain: Chain) -> None:
        while True:
            try:
                await asyncio.to_thread(grove.learn, place, chain)
            except NotLoaded as wanted:
                grove.load(wanted.digest, await self._versions.content(wanted.digest))
            else:
                return

    def _finding(self, environment: str, places: Sequence[Place]) -> Transaction[dict[Place, ChainRow]]:
        found = {}
        for place in places:
            row = yield from self._traces.finding(environment, *place)
            if row is not None:
                found[place] = row
        return found


def chain_of(row: ChainRow) -> Chain:
    return Chain(row.id, decode_links(unpack(row.links)), _leaf.decode(row.leaf))


def _walk_all(grove: Grove, nodes: Sequence[NodeData]) -> list[Found | Missing | NotLoaded]:
    results: list[Found | Missing | NotLoaded] = []
    for node in nodes:
        try:
            results.append(grove.walk(node))
        except NotLoaded as wanted:
            results.append(wanted)
    return results
