"""The trace trees in memory: for each version in use its files and the chains that walks have met.

Everything here is a cache of rows and blobs. A walk that lacks a file or a chain says so, is given it, and starts again. So a walk never
waits for the database, and runs in a thread while the server goes on serving.
"""

from collections import OrderedDict
from collections.abc import Collection
from typing import Any, NamedTuple

from precast.base.digests import Digest
from precast.lang.inputs import Answer, Question
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.services.traces.chains import BranchPoint, Chain
from precast.services.traces.version_files import VersionFiles
from precast.services.traces.walker import MissingBranch, ReachedLeaf, Walker

MAX_CACHED_TREES = 8
# Of the data files of a version so much is cached; what was parsed from them is cached besides.
CONTENT_BYTES = 64 * 1024 * 1024


class NotLoaded(Exception):
    """A walk needs the content of a file that is not in memory."""

    def __init__(self, digest: Digest) -> None:
        super().__init__(digest)
        self.digest = digest


class TraceTree:
    """The trace tree of one version of an environment, as far as it is in memory."""

    def __init__(self, environment: str, version: str, files: dict[str, Digest], constants: dict[str, Any]) -> None:
        self.environment, self.version, self.files, self.constants = environment, version, files, constants
        self._contents: dict[Digest, bytes] = {}
        self._store = VersionFiles(files, self._load, CONTENT_BYTES)
        shared = NodeAnswers(NodeData("", {}, {}), self._store, constants)
        self._walker = Walker(shared.answer)

    def walk(self, node: NodeData) -> ReachedLeaf | MissingBranch:
        """Walk a node as far as the chains in memory go. Raises NotLoaded."""
        return self._walker.walk(NodeAnswers(node, self._store, self.constants).answer)

    def ask(self, node: NodeData, question: Question) -> Answer:
        """The answer of this version for a node. Raises NotLoaded."""
        return NodeAnswers(node, self._store, self.constants).answer(question)

    def add_chain(self, branch_point: BranchPoint, chain: Chain) -> None:
        """Cache the chain of reads that begins at a branch point. Raises NotLoaded if a file that it read is not in memory."""
        self._walker.add_chain(branch_point, chain)

    def add_content(self, digest: Digest, content: bytes) -> None:
        """Provide the content of a file that a walk needs."""
        self._contents[digest] = content

    def _load(self, digest: Digest) -> bytes:
        content = self._contents.pop(digest, None)
        if content is None:
            raise NotLoaded(digest)
        return content


class TraceTreeKey(NamedTuple):
    environment: str
    version: str


class TraceTreeCache:
    """The trees that were used last."""

    def __init__(self) -> None:
        self._trees: OrderedDict[TraceTreeKey, TraceTree] = OrderedDict()

    def find(self, key: TraceTreeKey) -> TraceTree | None:
        tree = self._trees.get(key)
        if tree is not None:
            self._trees.move_to_end(key)
        return tree

    def add(self, tree: TraceTree) -> None:
        self._trees[TraceTreeKey(tree.environment, tree.version)] = tree
        while len(self._trees) > MAX_CACHED_TREES:
            self._trees.popitem(last=False)

    def drop(self, environments: Collection[str]) -> None:
        for key in [key for key in self._trees if key.environment in environments]:
            del self._trees[key]
