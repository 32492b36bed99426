"""The trace trees in memory: for each version that is in use its files and the chains that were met.

Everything here is a cache of rows and blobs. A walk that needs more says what, is given it, and begins again: so walking waits for
nothing, and runs in a thread while others are served.
"""

from collections import OrderedDict
from collections.abc import Collection
from typing import Any, NamedTuple

from precast.base.digests import Digest
from precast.lang.answers import NodeAnswers, NodeData
from precast.lang.inputs import Answer, Question
from precast.services.traces.chains import Chain, Place
from precast.services.traces.files import VersionFiles
from precast.services.traces.walking import Found, Missing, Walker

VERSIONS_KEPT = 8
# Of the data files of a version as much is kept; what was parsed is kept besides.
CONTENT_BYTES = 64 * 1024 * 1024


class NotLoaded(Exception):
    """A walk wants the content of a file that is not in memory."""

    def __init__(self, digest: Digest) -> None:
        super().__init__(digest)
        self.digest = digest


class Grove:
    """One version of an environment, as walks need it."""

    def __init__(self, environment: str, version: str, files: dict[str, Digest], constants: dict[str, Any]) -> None:
        self.environment, self.version, self.files, self.constants = environment, version, files, constants
        self._contents: dict[Digest, bytes] = {}
        self._store = VersionFiles(files, self._load, CONTENT_BYTES)
        shared = NodeAnswers(NodeData("", {}, {}), self._store, constants)
        self._walker = Walker(shared.answer)

    def walk(self, node: NodeData) -> Found | Missing:
        """As far as memory goes. Raises NotLoaded."""
        return self._walker.walk(NodeAnswers(node, self._store, self.constants).answer)

    def ask(self, node: NodeData, question: Question) -> Answer:
        """What this version answers a node. Raises NotLoaded."""
        return NodeAnswers(node, self._store, self.constants).answer(question)

    def learn(self, place: Place, chain: Chain) -> None:
        """Take a chain in. Raises NotLoaded."""
        self._walker.learn(place, chain)

    def load(self, digest: Digest, content: bytes) -> None:
        """Take the content of a file in."""
        self._contents[digest] = content

    def _load(self, digest: Digest) -> bytes:
        found = self._contents.pop(digest, None)
        if found is None:
            raise NotLoaded(digest)
        return found


class GroveName(NamedTuple):
    environment: str
    version: str


class Forest:
    """The groves that were used last."""

    def __init__(self) -> None:
        self._groves: OrderedDict[GroveName, Grove] = OrderedDict()

    def find(self, name: GroveName) -> Grove | None:
        grove = self._groves.get(name)
        if grove is not None:
            self._groves.move_to_end(name)
        return grove

    def add(self, grove: Grove) -> None:
        self._groves[GroveName(grove.environment, grove.version)] = grove
        while len(self._groves) > VERSIONS_KEPT:
            self._groves.popitem(last=False)

    def drop(self, environments: Collection[str]) -> None:
        for name in [name for name in self._groves if name.environment in environments]:
            del self._groves[name]
