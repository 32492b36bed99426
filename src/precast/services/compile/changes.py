"""Finds out why a node's catalog changed. The reason is stored with the change, because later the old path may have been deleted.

A change has one reason: the first read on the path with another answer. If that is a file of the environment, the version that changed it
is searched among those deployed since: its commit is what people want to know. Nodes of one kind change alike, so the reason is found
once for all of them.
"""

from collections.abc import Mapping, Sequence

import msgspec

from precast.lang import inputs
from precast.services.compile.inputs import NodeInput, node_data
from precast.services.traces.cache import TraceCache
from precast.services.traces.chains import Link, is_shared, key_of, normalise_answer
from precast.services.traces.divergence import Divergence, describe_divergence, find_divergence, shorten_answer
from precast.services.traces.paths import read_path
from precast.store.catalogs.staged import CatalogChange, StagedCatalog
from precast.store.code.environments import Environments, EnvironmentVersion
from precast.store.engine.database import Database
from precast.store.traces import Traces

# Versions that are searched for the one that caused a change; beyond, the newest is named.
VERSIONS_SEARCHED = 5
MAX_CACHED = 1_024

# The divergence, and the number of the version that caused it, if a version did.
_Reason = tuple[Divergence, int | None]


class ChangeReasons:
    """Finds the reasons of changed catalogs; holds only a cache."""

    def __init__(self, database: Database, traces: Traces, environments: Environments, trace_cache: TraceCache) -> None:
        self._database, self._traces, self._environments = database, traces, environments
        self._trace_cache = trace_cache
        self._cached: dict[tuple[str, ...], _Reason] = {}

    async def find(
        self, node_inputs: Sequence[NodeInput], before: Mapping[str, StagedCatalog], staged: Sequence[StagedCatalog]
    ) -> list[CatalogChange]:
        """The changes, with their reasons, of the nodes that get another catalog than before."""
        inputs_of = {node_input.node: node_input for node_input in node_inputs}
        changes = []
        for after in staged:
            old = before.get(after.node)
            if old is None or not _is_changed(old, after):
                continue
            divergence, number = await self._reason(inputs_of[after.node], old, after)
            changes.append(
                CatalogChange(
                    after.node,
                    after.decided_at,
                    after.environment,
                    old.version,
                    after.version,
                    old.digest,
                    after.digest,
                    msgspec.json.encode(divergence).decode(),
                    number,
                )
            )
        return changes

    async def _reason(self, node: NodeInput, old: StagedCatalog, new: StagedCatalog) -> _Reason:
        if old.environment != new.environment:
            return Divergence({"ask": "environment"}, old.environment, new.environment), None
        if old.chain == new.chain:
            return _find_changed_fill(old, new), None
        pair = (old.chain, new.chain, old.version, new.version)
        reason = self._cached.get(pair)
        if reason is None:
            if len(self._cached) >= MAX_CACHED:
                self._cached.clear()
            reason = self._cached[pair] = await self._find_reason(node, old, new)
        return reason

    async def _find_reason(self, node: NodeInput, old: StagedCatalog, new: StagedCatalog) -> _Reason:
        before, after = [await self._database.read(read_path, self._traces, chain) for chain in (old.chain, new.chain)]
        links = find_divergence(before, after) if before is not None and after is not None else None
        if links is None:
            return Divergence({"ask": "forgotten"}), None
        question = links[1].question
        is_of_files = is_shared(question) or isinstance(question, inputs.DataFile | inputs.DataKey)
        number = await self._find_version(node, old.version, links[1]) if is_of_files else None
        return describe_divergence(*links), number

    async def _find_version(self, node: NodeInput, old_version: str, now: Link) -> int | None:
        """The number of the first version after the old one that gives the present answer."""
        newest = await self._database.read(
            self._environments.list_history, node.environment, 2**31, VERSIONS_SEARCHED + 1
        )
        since: list[EnvironmentVersion] = []
        for version in newest:
            if version.version == old_version:
                break
            since.append(version)
        if not since:
            return None
        for version in reversed(since[1:]):
            tree = await self._trace_cache.tree(node.environment, version.version)
            answer = await self._trace_cache.ask(tree, node_data(node), now.question)
            if key_of(normalise_answer(now.question, answer)) == now.key:
                return version.number
        return since[0].number


def _is_changed(old: StagedCatalog, new: StagedCatalog) -> bool:
    return old.digest != new.digest or (old.digest is None and old.chain != new.chain)


def _find_changed_fill(old: StagedCatalog, new: StagedCatalog) -> Divergence:
    """The first hole with another value."""
    was = {tuple(hole): value for hole, value in msgspec.json.decode(old.fill)}
    for (root, *path), value in msgspec.json.decode(new.fill):
        before = was.get((root, *path))
        if before != value:
            ask = "trusted" if root == "trusted" else "fact"
            question = inputs.TrustedPath(tuple(path)) if ask == "trusted" else inputs.FactPath(tuple(path))
            pair = (Link(question, before), Link(question, value))
            return Divergence({"ask": ask, "path": path}, *map(shorten_answer, pair))
    return Divergence({"ask": "forgotten"})
