"""Walks nodes through the trace trees of their versions, to the catalog that each of them gets or to the branch where it is missing.

Nothing here writes: a decision is made of the outcome, in a transaction.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.catalog.skeleton import find_hole_values
from precast.lang.inputs import ABSENT
from precast.lang.node_answers import NodeData
from precast.services.catalogs.skeletons import Skeletons
from precast.services.compile.inputs import NodeInput, node_data
from precast.services.traces.cache import FailedWalk, TraceCache
from precast.services.traces.walker import MissingBranch, ReachedLeaf
from precast.store.catalogs.staged import StagedCatalog


class Branch(msgspec.Struct, frozen=True):
    """A missing branch of an environment's trace tree: the payload of a requested compile."""

    environment: str
    chain: str
    position: int
    answer: str

    @property
    def key(self) -> str:
        return digests.of_value(self)


class DecisionOutcome(NamedTuple):
    """The outcome for a batch of nodes: staged, waiting at a branch, nothing because the node has no code or no facts, or an error."""

    staged: tuple[StagedCatalog, ...]
    waiting: tuple[tuple[str, Branch], ...]
    idle: tuple[str, ...]
    failed: Mapping[str, PrecastError]


class CatalogWalks:
    """Finds the catalogs of nodes; holds only caches."""

    def __init__(self, clock: Clock, trace_cache: TraceCache, skeletons: Skeletons) -> None:
        self._clock, self._trace_cache, self._skeletons = clock, trace_cache, skeletons

    async def decide(self, node_inputs: Sequence[NodeInput]) -> DecisionOutcome:
        """Walk these nodes through the trees of their versions. Writes nothing. An error concerns only the nodes of one environment."""
        groups: dict[tuple[str, str], list[NodeInput]] = {}
        idle = []
        for node_input in node_inputs:
            if node_input.version is None or node_input.facts_digest is None:
                idle.append(node_input.node)
            else:
                groups.setdefault((node_input.environment, node_input.version), []).append(node_input)
        staged: list[StagedCatalog] = []
        waiting: list[tuple[str, Branch]] = []
        failed: dict[str, PrecastError] = {}
        for (environment, version), members in sorted(groups.items()):
            data = [node_data(member) for member in members]
            try:
                tree = await self._trace_cache.tree(environment, version)
                walks = await self._trace_cache.walk(tree, data)
            except PrecastError as error:
                failed |= dict.fromkeys((member.node for member in members), error)
                continue
            for member, node, walk in zip(members, data, walks, strict=True):
                match walk:
                    case MissingBranch(branch_point):
                        waiting.append((member.node, Branch(environment, *branch_point)))
                    case FailedWalk(reason):
                        failed[member.node] = reason
                    case ReachedLeaf():
                        staged.append(await self._stage(member, node, walk))
        return DecisionOutcome(tuple(staged), tuple(waiting), tuple(idle), failed)

    async def _stage(self, node_input: NodeInput, node: NodeData, reached: ReachedLeaf) -> StagedCatalog:
        assert node_input.version is not None, "only nodes with a version are walked"
        assert node_input.facts_digest is not None, "only nodes with facts are walked"
        now = self._clock.now()
        chain = reached.path[-1][0]
        digest, fill = None, "[]"
        if reached.leaf.catalog is not None:
            skeleton = await self._skeletons.read(reached.leaf.catalog)
            values = find_hole_values(skeleton.holes, lambda root, path: _value(node, root, path))
            digest = skeleton.digest if not values else digests.of_bytes(skeleton.fill(values))
            fill = canonical.encode([[list(hole), value] for hole, value in values.items()]).decode()
        return StagedCatalog(
            node_input.node,
            node_input.environment,
            node_input.version,
            node_input.facts_digest,
            chain,
            reached.leaf.catalog,
            digest,
            fill,
            now,
            now,
            len(reached.leaf.problems),
        )


def _value(node: NodeData, root: str, path: tuple[str | int, ...]) -> object:
    value = node.find(root, path)
    return None if value is ABSENT else value
