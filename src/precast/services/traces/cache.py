"""Walks nodes through the trace tree of their version, and provides what a walk lacks: chains, and costly answers."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from precast.base.errors import PrecastError
from precast.lang.exports import OtherExports
from precast.lang.inputs import Answer, Question
from precast.lang.node_answers import Decryptor, NodeData
from precast.lang.puppetdb.answers import Fleet
from precast.services.traces.chains import BranchPoint, Chain
from precast.services.traces.constants import VersionConstants
from precast.services.traces.costly_answers import (
    CostlyQuestion,
    ExportsToRead,
    FleetQueryToAnswer,
    NodeToMatch,
    NotAnswered,
    SecretToRead,
    SharedIndexes,
)
from precast.services.traces.costly_messages import FileIndex, IndexFile, MatchedNode, MatchNode
from precast.services.traces.costly_processes import CostlyProcesses
from precast.services.traces.paths import decode_chain
from precast.services.traces.secret_answers import SecretDocuments
from precast.services.traces.tree import TraceTree, TraceTreeCache, TraceTreeKey
from precast.services.traces.versions import Versions
from precast.services.traces.walker import MissingBranch, ReachedLeaf
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import ChainRow, Traces

# Gives the key that authenticates the answers of an environment.
FindAnswerKey = Callable[[str], Awaitable[bytes]]


class FailedWalk(NamedTuple):
    """A walk that ended because an answer took too much time or memory."""

    error: PrecastError


class ExportReader(OtherExports, Protocol):
    """The exports that walks read: `find` raises NotAnswered for those of a type that is not loaded."""

    async def load(self, type_name: str) -> None:
        """Read the exports of a type. Raises PrecastError."""


class FleetReader(Fleet, Protocol):
    """The answers to queries over the fleet that walks read: `find` raises NotAnswered for one that is not loaded."""

    async def load(self, query: str) -> None:
        """Read an answer. Raises PrecastError."""


class OtherNodes(Protocol):
    """What walks read of other nodes."""

    @property
    def exports(self) -> ExportReader: ...

    @property
    def fleet(self) -> FleetReader: ...


class TraceCache:
    """The trace trees of all versions in use, loaded from the database as walks need them."""

    def __init__(
        self,
        database: Database,
        traces: Traces,
        versions: Versions,
        constants: VersionConstants,
        costly: CostlyProcesses,
        find_answer_key: FindAnswerKey,
        keys: Callable[[str], Decryptor | None] = lambda environment: None,
        documents: SecretDocuments | None = None,
    ) -> None:
        self._database, self._traces, self._versions = database, traces, versions
        self._find_answer_key = find_answer_key
        self._constants, self._costly, self._keys, self._documents = constants, costly, keys, documents
        self._indexes = SharedIndexes()
        self._trees = TraceTreeCache()

    async def tree(self, environment: str, version: str) -> TraceTree:
        """The tree of a version, for walks that begin now: its answers about secrets are those of the present."""
        key = TraceTreeKey(environment, version)
        tree = self._trees.find(key)
        if tree is None:
            constants = await self._constants.read(environment, version)
            files, answer_key = await self._versions.files(version), await self._find_answer_key(environment)
            keys = answer_key, self._keys(environment)
            tree = TraceTree(environment, version, files, constants, *keys, self._documents)
            self._trees.add(tree)
        await tree.secrets.refresh()
        return tree

    def forget(self, environments: Collection[str]) -> None:
        """Drop the trees of these environments: chains in them may have been deleted from the database."""
        self._trees.drop(environments)

    async def walk(
        self, tree: TraceTree, nodes: Sequence[NodeData], others: OtherNodes | None = None
    ) -> list[ReachedLeaf | MissingBranch | FailedWalk]:
        """Walk each node to its leaf, or to the branch point where the stored tree ends. Without `others` there are none.

        The walk of a node fails if one of its answers takes too much time or memory. Raises UnavailableError if that concerns all nodes.
        """
        results: dict[int, ReachedLeaf | MissingBranch | FailedWalk] = {}
        walking = list(range(len(nodes)))
        while walking:
            round_results = await asyncio.to_thread(_walk_all, tree, [nodes[at] for at in walking], others)
            again: list[int] = []
            missing: dict[CostlyQuestion, list[int]] = {}
            branch_points: dict[BranchPoint, None] = {}
            for at, result in zip(walking, round_results, strict=True):
                if isinstance(result, NotAnswered):
                    missing.setdefault(result.question, []).append(at)
                else:
                    results[at] = result
                    if isinstance(result, MissingBranch):
                        branch_points[result.branch_point] = None
            for failed, walks in await self._answer_all(tree, nodes, missing, others):
                if failed is None:
                    again += walks
                else:
                    results.update((at, FailedWalk(failed)) for at in walks)
            loaded = await self._load_chains(tree, list(branch_points))
            # A node that stopped at a branch point whose chain is loaded now walks again.
            again += [
                at
                for at, result in results.items()
                if isinstance(result, MissingBranch) and result.branch_point in loaded
            ]
            walking = sorted(set(again))
        return [results[at] for at in range(len(nodes))]

    async def _answer_all(
        self,
        tree: TraceTree,
        nodes: Sequence[NodeData],
        missing: Mapping[CostlyQuestion, Sequence[int]],
        others: OtherNodes | None,
    ) -> list[tuple[PrecastError | None, Sequence[int]]]:
        """Get the answers that walks lack, those about secrets together; returns the error of each question, with its walks."""

        async def answer(question: CostlyQuestion, walks: Sequence[int]) -> tuple[PrecastError | None, Sequence[int]]:
            try:
                await self._answer(tree, question, others, [nodes[at].certname for at in walks])
            except PrecastError as error:
                return error, walks
            return None, walks

        secrets = {question: walks for question, walks in missing.items() if isinstance(question, SecretToRead)}
        rest = {question: walks for question, walks in missing.items() if question not in secrets}
        answered = await asyncio.gather(*(answer(question, walks) for question, walks in secrets.items()))
        return [*answered, *[await answer(question, walks) for question, walks in rest.items()]]

    async def ask(self, tree: TraceTree, node: NodeData, question: Question) -> Answer:
        """The answer of a version for a node to one question."""
        while True:
            try:
                return await asyncio.to_thread(tree.ask, node, question)
            except NotAnswered as missing:
                await self._answer(tree, missing.question)

    async def _answer(
        self,
        tree: TraceTree,
        question: CostlyQuestion,
        others: OtherNodes | None = None,
        nodes: Sequence[str] = (),
    ) -> None:
        """Read about other nodes or from a secret source, or have a process answer what a walk may not evaluate itself.

        Raises UnavailableError TRACE-002 to TRACE-005, and what `others` raise; SECRET-022 if a source has not answered: `nodes` are
        then decided upon when it has.
        """
        if isinstance(question, SecretToRead):
            await tree.secrets.read(question, nodes)
            return
        if isinstance(question, ExportsToRead | FleetQueryToAnswer):
            assert others is not None, "only they raise it"
            await _load(question, others)
            return
        if isinstance(question, NodeToMatch):
            matched = await self._costly.ask(tree.environment, MatchNode(*question))
            assert isinstance(matched, MatchedNode)
            tree.costly.add_match(question, matched)
            return
        index = self._indexes.find(tree.environment, question)
        if index is None:
            data = await self._versions.content(question.digest)
            index_file = IndexFile(question.digest, question.reader, data, tree.answer_key)
            reply = await self._costly.ask(tree.environment, index_file)
            assert isinstance(reply, FileIndex)
            index = reply
            self._indexes.add(tree.environment, question, index)
        tree.costly.add_index(question, index)

    async def _load_chains(self, tree: TraceTree, branch_points: Sequence[BranchPoint]) -> set[BranchPoint]:
        """Load the chains that begin at these branch points; returns the branch points that have one."""
        if not branch_points:
            return set()
        rows = await self._database.read(self._find_chains, tree.environment, branch_points)
        for branch_point, row in rows.items():
            await self._add_chain(tree, branch_point, decode_chain(row))
        return set(rows)

    async def _add_chain(self, tree: TraceTree, branch_point: BranchPoint, chain: Chain) -> None:
        while True:
            try:
                await asyncio.to_thread(tree.add_chain, branch_point, chain)
            except NotAnswered as missing:
                await self._answer(tree, missing.question)
            else:
                return

    def _find_chains(
        self, environment: str, branch_points: Sequence[BranchPoint]
    ) -> Transaction[dict[BranchPoint, ChainRow]]:
        rows = {}
        for branch_point in branch_points:
            row = yield from self._traces.find(environment, *branch_point)
            if row is not None:
                rows[branch_point] = row
        return rows


async def _load(question: ExportsToRead | FleetQueryToAnswer, others: OtherNodes) -> None:
    if isinstance(question, ExportsToRead):
        await others.exports.load(question.type_name)
    else:
        await others.fleet.load(question.query)


def _walk_all(
    tree: TraceTree, nodes: Sequence[NodeData], others: OtherNodes | None
) -> list[ReachedLeaf | MissingBranch | NotAnswered]:
    results: list[ReachedLeaf | MissingBranch | NotAnswered] = []
    for node in nodes:
        try:
            results.append(tree.walk(node, others.exports, others.fleet) if others else tree.walk(node))
        except NotAnswered as missing:
            results.append(missing)
    return results
