"""Walks nodes through the trace trees of their versions, to the catalog that each of them gets or to the branch where it is missing.

A node has the catalog of its main manifest, and one of each entry point that is wanted for it. Nothing here writes: a decision is made of
the outcome, in a transaction.
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
from precast.services.exports.answers import ExportAnswers, ExportReads
from precast.services.query.fleet.answering import FleetAnswers, FleetReads
from precast.services.traces.cache import FailedWalk, TraceCache
from precast.services.traces.secret_answers import SecretReads
from precast.services.traces.walker import MissingBranch, ReachedLeaf
from precast.store.catalogs.entries import EntryRow, StagedEntry
from precast.store.catalogs.staged import StagedCatalog

Wanted = Mapping[str, Sequence[EntryRow]]


class Branch(msgspec.Struct, frozen=True):
    """A missing branch of an environment's trace tree: the payload of a requested compile."""

    environment: str
    chain: str
    position: int
    answer: str

    @property
    def key(self) -> str:
        return digests.of_value(self)


class WaitingCatalog(NamedTuple):
    """A catalog that is missing: of a node's main manifest, or of an entry point."""

    node: str
    entry: str
    branch: Branch


class FailedEntry(NamedTuple):
    """A walk for an entry point that failed for a reason that is no error of the code. The node's own catalog is decided all the same."""

    node: str
    entry: str
    error: PrecastError


class OtherReads(NamedTuple):
    """What the walks of some nodes of one environment read of other nodes."""

    exports: ExportReads
    fleet: FleetReads


class OtherAnswers(NamedTuple):
    """Answers questions about other nodes."""

    exports: ExportAnswers
    fleet: FleetAnswers

    def begin(self, environment: str) -> OtherReads:
        return OtherReads(self.exports.begin(environment), self.fleet.begin(environment))


class DecisionOutcome:
    """The outcome for a batch of nodes.

    Catalogs are staged or waiting at a branch. Nodes are idle because they have no code or no facts, or failed: then nothing is decided.
    `exports` and `fleet` are what the walks read of other nodes.
    """

    def __init__(self) -> None:
        self.staged: list[StagedCatalog] = []
        self.entries: list[StagedEntry] = []
        self.waiting: list[WaitingCatalog] = []
        self.failed_entries: list[FailedEntry] = []
        self.idle: list[str] = []
        self.failed: dict[str, PrecastError] = {}
        self.exports: list[ExportReads] = []
        self.fleet: list[FleetReads] = []
        # What the walks of each node have read from secret sources, of nodes that have read something.
        self.secrets: dict[str, SecretReads] = {}

    def add(self, other: "DecisionOutcome") -> None:
        self.staged += other.staged
        self.entries += other.entries
        self.waiting += other.waiting
        self.failed_entries += other.failed_entries
        self.idle += other.idle
        self.failed |= other.failed
        self.exports += other.exports
        self.fleet += other.fleet
        self.secrets |= other.secrets

    def add_secrets(self, node: str, read: SecretReads) -> None:
        """Add what one walk of a node has read from secret sources."""
        if read.documents:
            before = self.secrets.get(node, read)
            self.secrets[node] = read._replace(documents=before.documents | read.documents)


class _Target(NamedTuple):
    """A catalog that is looked for; `before` is what an entry point was staged with."""

    node_input: NodeInput
    data: NodeData
    before: EntryRow | None = None


class CatalogWalks:
    """Finds the catalogs of nodes; holds only caches."""

    def __init__(self, clock: Clock, trace_cache: TraceCache, skeletons: Skeletons, others: OtherAnswers) -> None:
        self._clock, self._trace_cache, self._skeletons, self._others = clock, trace_cache, skeletons, others

    async def decide(self, node_inputs: Sequence[NodeInput], wanted: Wanted) -> DecisionOutcome:
        """Walk these nodes, and their wanted entry points, through the trees of their versions. Writes nothing.

        An error concerns only the nodes of one environment.
        """
        groups: dict[tuple[str, str], list[_Target]] = {}
        outcome = DecisionOutcome()
        for node_input in node_inputs:
            if node_input.version is None or node_input.facts_digest is None:
                outcome.idle.append(node_input.node)
            else:
                group = groups.setdefault((node_input.environment, node_input.version), [])
                group += _list_targets(node_input, wanted.get(node_input.node, ()))
        for (environment, version), targets in sorted(groups.items()):
            try:
                outcome.add(await self._walk(environment, version, targets))
            except PrecastError as error:
                outcome.failed |= dict.fromkeys((target.node_input.node for target in targets), error)
        return outcome

    async def _walk(self, environment: str, version: str, targets: Sequence[_Target]) -> DecisionOutcome:
        tree = await self._trace_cache.tree(environment, version)
        others, revision = self._others.begin(environment), tree.secrets.policy.revision
        walks = await self._trace_cache.walk(tree, [target.data for target in targets], others)
        found = DecisionOutcome()
        found.exports.append(others.exports)
        found.fleet.append(others.fleet)
        for target, walk in zip(targets, walks, strict=True):
            node, entry = target.node_input.node, target.data.entry
            # The walk of the main manifest is the first of each node.
            if node in found.failed:
                continue
            if not isinstance(walk, FailedWalk):
                found.add_secrets(node, SecretReads(walk.secrets, environment, revision))
            match walk:
                case MissingBranch(branch_point):
                    found.waiting.append(WaitingCatalog(node, entry, Branch(environment, *branch_point)))
                case FailedWalk(error) if entry:
                    found.failed_entries.append(FailedEntry(node, entry, error))
                case FailedWalk(error):
                    found.failed[node] = error
                case ReachedLeaf() if entry:
                    found.entries.append(await self._stage_entry(target, walk))
                case ReachedLeaf():
                    found.staged.append(await self._stage(target, walk))
        return found

    async def _stage(self, target: _Target, reached: ReachedLeaf) -> StagedCatalog:
        node_input, now = target.node_input, self._clock.now()
        assert node_input.version is not None, "only nodes with a version are walked"
        assert node_input.facts_digest is not None, "only nodes with facts are walked"
        digest, fill = await self._fill(target, reached)
        return StagedCatalog(
            node_input.node,
            node_input.environment,
            node_input.version,
            node_input.facts_digest,
            reached.path[-1][0],
            reached.leaf.catalog,
            digest,
            fill,
            now,
            now,
            len(reached.leaf.problems),
        )

    async def _stage_entry(self, target: _Target, reached: ReachedLeaf) -> StagedEntry:
        node_input = target.node_input
        assert node_input.version is not None, "only nodes with a version are walked"
        digest, fill = await self._fill(target, reached)
        return StagedEntry(
            node_input.node,
            target.data.entry,
            node_input.environment,
            node_input.version,
            reached.path[-1][0],
            reached.leaf.catalog,
            digest,
            fill,
            self._clock.now(),
            len(reached.leaf.problems),
        )

    async def _fill(self, target: _Target, reached: ReachedLeaf) -> tuple[str | None, str]:
        """The digest of the leaf's catalog with the node's own values, and these values; no digest for an error."""
        if reached.leaf.catalog is None:
            return None, "[]"
        skeleton, before = await self._skeletons.read(reached.leaf.catalog), target.before
        values = find_hole_values(skeleton.holes, lambda root, path: _value(target.data, root, path))
        fill = canonical.encode([[list(hole), value] for hole, value in values.items()]).decode()
        if before is not None and (before.skeleton, before.fill) == (skeleton.digest, fill):
            return before.digest, fill
        return skeleton.digest if not values else digests.of_bytes(skeleton.fill(values)), fill


def _list_targets(node_input: NodeInput, wanted: Sequence[EntryRow]) -> list[_Target]:
    data = node_data(node_input)
    entries = [_Target(node_input, msgspec.structs.replace(data, entry=row.entry), row) for row in wanted]
    return [_Target(node_input, data), *entries]


def _value(node: NodeData, root: str, path: tuple[str | int, ...]) -> object:
    value = node.find(root, path)
    return None if value is ABSENT else value
