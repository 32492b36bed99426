"""The trace trees in memory: for each version in use the digests of its files and the chains that walks have met.

Everything here is a cache. A walk that lacks a chain or a costly answer says so, is given it, and starts again. So a walk never waits for
the database or for another process, and runs in a thread while the server goes on serving.
"""

from collections import OrderedDict
from collections.abc import Collection
from typing import Any, NamedTuple

from precast.base.digests import Digest
from precast.lang.exports import OtherExports
from precast.lang.inputs import Answer, Question
from precast.lang.node_answers import Decryptor, NodeAnswers, NodeData
from precast.lang.puppetdb.answers import Fleet
from precast.services.traces.chains import BranchPoint, Chain
from precast.services.traces.costly_answers import KnownAnswers
from precast.services.traces.secret_answers import KnownSecrets, NoDocuments, SecretDocuments, SecretsOfWalk
from precast.services.traces.version_files import VersionFiles
from precast.services.traces.walker import MissingBranch, ReachedLeaf, Walker

MAX_CACHED_TREES = 8


class TraceTree:
    """The trace tree of one version of an environment, as far as it is in memory."""

    def __init__(
        self,
        environment: str,
        version: str,
        files: dict[str, Digest],
        constants: dict[str, Any],
        answer_key: bytes,
        decryptor: Decryptor | None = None,
        documents: SecretDocuments | None = None,
    ) -> None:
        self.environment, self.version, self.files, self.constants = environment, version, files, constants
        self.answer_key, self._decryptor = answer_key, decryptor
        self.secrets = KnownSecrets(environment, documents or NoDocuments())
        self.costly = KnownAnswers(environment)
        self._store = VersionFiles(files, _refuse_content)
        self._walker = Walker(self._answers(NodeData("", {}, {})).answer)

    def walk(
        self, node: NodeData, exports: OtherExports | None = None, fleet: Fleet | None = None
    ) -> ReachedLeaf | MissingBranch:
        """Walk a node as far as the chains in memory go. Raises NotAnswered."""
        secrets = SecretsOfWalk(self.secrets)
        result = self._walker.walk(self._answers(node, exports, fleet, secrets).answer)
        return result._replace(secrets=frozenset(secrets.read)) if secrets.read else result

    def ask(self, node: NodeData, question: Question) -> Answer:
        """The answer of this version for a node. Raises NotAnswered."""
        return self._answers(node).answer(question)

    def add_chain(self, branch_point: BranchPoint, chain: Chain) -> None:
        """Cache the chain of reads that begins at a branch point. Raises NotAnswered if it read a file that is not indexed yet."""
        self._walker.add_chain(branch_point, chain)

    def _answers(
        self,
        node: NodeData,
        exports: OtherExports | None = None,
        fleet: Fleet | None = None,
        secrets: SecretsOfWalk | None = None,
    ) -> NodeAnswers:
        asked = SecretsOfWalk(self.secrets) if secrets is None else secrets
        return NodeAnswers(
            *(node, self._store, self.constants),
            decryptor=self._decryptor,
            costly=self.costly,
            exports=exports,
            fleet=fleet,
            secrets=asked,
            answer_key=self.answer_key,
        )


def _refuse_content(digest: Digest) -> bytes:
    raise AssertionError(f"a walk needs only digests, not the content {digest}")


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
