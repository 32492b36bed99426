"""Why a node's catalog became another: noted when that happens, because later the ways it took are gone.

A change has one reason: the first read on the way whose answer was another. Where that is a file of the environment, the version
that brought it is looked for among those that came in between: its commit is what people want to know. Like nodes change alike, so
the reason is found once for all of them.
"""

from collections.abc import Mapping, Sequence

import msgspec

from precast.lang import inputs
from precast.services.compile.inputs import NodeInput, node_data
from precast.services.traces.chains import Link, is_shared, key_of, settled
from precast.services.traces.differences import Told, part_ways, shortened, tell
from precast.services.traces.groves import Groves
from precast.services.traces.ways import way
from precast.store.catalogs import Change, Staged
from precast.store.code.environments import Environments, EnvironmentVersion
from precast.store.engine.database import Database
from precast.store.traces import Traces

# Versions that are looked through for the one that brought a change; beyond, the newest is named.
VERSIONS_ASKED = 5
REASONS_KEPT = 1_024

_Reason = tuple[Told, int | None]


class ChangeReasons:
    """Finds them; holds only a cache."""

    def __init__(self, database: Database, traces: Traces, environments: Environments, groves: Groves) -> None:
        self._database, self._traces, self._environments = database, traces, environments
        self._groves = groves
        self._known: dict[tuple[str, ...], _Reason] = {}

    async def find(
        self, known: Sequence[NodeInput], before: Mapping[str, Staged], staged: Sequence[Staged]
    ) -> list[Change]:
        """Of those who get another catalog than before, why."""
        inputs_of = {one.node: one for one in known}
        found = []
        for after in staged:
            old = before.get(after.node)
            if old is None or not _is_another(old, after):
                continue
            told, number = await self._reason(inputs_of[after.node], old, after)
            found.append(
                Change(
                    after.node,
                    after.decided_at,
                    after.environment,
                    old.version,
                    after.version,
                    old.digest,
                    after.digest,
                    msgspec.json.encode(told).decode(),
                    number,
                )
            )
        return found

    async def _reason(self, node: NodeInput, old: Staged, new: Staged) -> _Reason:
        if old.environment != new.environment:
            return Told({"ask": "environment"}, old.environment, new.environment), None
        if old.chain == new.chain:
            return _filled_otherwise(old, new), None
        pair = (old.chain, new.chain, old.version, new.version)
        found = self._known.get(pair)
        if found is None:
            if len(self._known) >= REASONS_KEPT:
                self._known.clear()
            found = self._known[pair] = await self._look(node, old, new)
        return found

    async def _look(self, node: NodeInput, old: Staged, new: Staged) -> _Reason:
        ways = [await self._database.read(way, self._traces, chain) for chain in (old.chain, new.chain)]
        parted = part_ways(ways[0], ways[1]) if ways[0] is not None and ways[1] is not None else None
        if parted is None:
            return Told({"ask": "forgotten"}), None
        question = parted[1].question
        is_of_files = is_shared(question) or isinstance(question, inputs.DataFile | inputs.DataKey)
        number = await self._brought_by(node, old.version, parted[1]) if is_of_files else None
        return tell(*parted), number

    async def _brought_by(self, node: NodeInput, old_version: str, now: Link) -> int | None:
        """The number of the first version since the old one that answers as it is now."""
        newest = await self._database.read(self._environments.history, node.environment, 2**31, VERSIONS_ASKED + 1)
        came: list[EnvironmentVersion] = []
        for one in newest:
            if one.version == old_version:
                break
            came.append(one)
        if not came:
            return None
        for one in reversed(came[1:]):
            grove = await self._groves.grove(node.environment, one.version)
            answer = await self._groves.ask(grove, node_data(node), now.question)
            if key_of(settled(now.question, answer)) == now.key:
                return one.number
        return came[0].number


def _is_another(old: Staged, new: Staged) -> bool:
    return old.digest != new.digest or (old.digest is None and old.chain != new.chain)


def _filled_otherwise(old: Staged, new: Staged) -> Told:
    """The first open place whose value is another."""
    was = {tuple(hole): value for hole, value in msgspec.json.decode(old.fill)}
    for (root, *path), value in msgspec.json.decode(new.fill):
        before = was.get((root, *path))
        if before != value:
            ask = "trusted" if root == "trusted" else "fact"
            question = inputs.TrustedPath(tuple(path)) if ask == "trusted" else inputs.FactPath(tuple(path))
            pair = (Link(question, before), Link(question, value))
            return Told({"ask": ask, "path": path}, *map(shortened, pair))
    return Told({"ask": "forgotten"})
