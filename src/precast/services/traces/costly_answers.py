"""The answers of an environment that a server must not evaluate itself, because a pattern or a data file can take any time and memory.

Walks look the answers up here. A walk that needs one that is not known stops with `NotAnswered`, and starts again when a process that
can be killed has answered. Expressions that an automaton matches in linear time are answered at once.
"""

from collections.abc import Callable
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from precast.base.digests import Digest
from precast.lang.inputs import ABSENT, Answer
from precast.lang.node_matching import NotLinearError, match_node_in_linear_time
from precast.services.traces import issues
from precast.services.traces.costly_messages import FileIndex, MatchedNode

# Keys of data files that are kept for one version, and nodes with the block that matches each.
MAX_KEYS: Final = 1_000_000
MAX_MATCHES: Final = 50_000


class FileToIndex(NamedTuple):
    """A data file whose keys a walk asks for."""

    digest: Digest
    reader: str


class NodeToMatch(NamedTuple):
    """Node blocks that a walk asks for, and that cannot be matched in linear time."""

    matchers: tuple[str, ...]
    certname: str


class ExportsToRead(NamedTuple):
    """A type whose exports a walk asks for."""

    type_name: str


class FleetQueryToAnswer(NamedTuple):
    """A query over the fleet whose answer a walk asks for."""

    query: str


class SecretToRead(NamedTuple):
    """A document of a secret source that a walk asks for."""

    source: str
    path: str


CostlyQuestion = FileToIndex | NodeToMatch | ExportsToRead | FleetQueryToAnswer | SecretToRead


class NotAnswered(Exception):
    """A walk needs an answer that is not known yet."""

    def __init__(self, question: CostlyQuestion) -> None:
        super().__init__(question)
        self.question = question


class SharedIndexes:
    """The indexes of data files that any version in memory uses: unchanged files are parsed once for all versions of an environment."""

    def __init__(self) -> None:
        self._indexes: WeakValueDictionary[tuple[str, FileToIndex], FileIndex] = WeakValueDictionary()

    def find(self, environment: str, file: FileToIndex) -> FileIndex | None:
        return self._indexes.get((environment, file))

    def add(self, environment: str, file: FileToIndex, index: FileIndex) -> None:
        self._indexes[environment, file] = index


class KnownAnswers:
    """The costly answers of one version, as far as they are known."""

    def __init__(self, environment: str) -> None:
        self._environment = environment
        self._indexes: dict[FileToIndex, FileIndex] = {}
        self._key_count = 0
        self._matches: dict[NodeToMatch, Answer] = {}

    def match_node(self, matchers: tuple[str, ...], certname: str) -> Answer:
        """Raises NotAnswered."""
        try:
            return match_node_in_linear_time(matchers, certname)
        except NotLinearError:
            question = NodeToMatch(matchers, certname)
            if question not in self._matches:
                raise NotAnswered(question) from None
            return self._matches[question]

    def data_key(self, digest: Digest, reader: str, key: str, load: Callable[[Digest], bytes]) -> Answer:
        """Raises NotAnswered. The content itself is not loaded."""
        del load
        index = self._indexes.get(FileToIndex(digest, reader))
        if index is None:
            raise NotAnswered(FileToIndex(digest, reader))
        return index.common if index.common is not None else index.keys.get(key, ABSENT)

    def add_index(self, file: FileToIndex, index: FileIndex) -> None:
        """Store the index of a file. Raises UnavailableError TRACE-005."""
        if file in self._indexes:
            return
        self._key_count += len(index.keys)
        if self._key_count > MAX_KEYS:
            raise issues.TOO_MANY_KEYS.error(environment=self._environment, limit=MAX_KEYS)
        self._indexes[file] = index

    def add_match(self, question: NodeToMatch, matched: MatchedNode) -> None:
        """Store the answer for a node. When there are too many the oldest is dropped: a walk of one node needs only its own."""
        if len(self._matches) >= MAX_MATCHES:
            del self._matches[next(iter(self._matches))]
        self._matches[question] = ABSENT if matched.index is None else (matched.index, matched.captures)
