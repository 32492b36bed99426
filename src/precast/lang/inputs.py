"""Everything a compile may ask, and the record of what it asked.

A catalog is a pure function of the answers to these questions, so the list is closed: what is not here cannot be read. The record
holds each question once, at the place where it was first asked. A cache that would save a question asks it all the same: the
trace of a warm process equals that of a fresh one.

Answers are plain JSON data, or `ABSENT`. The content of a file is no answer of its own: its digest is, and the bytes follow from it.
"""

import enum
from typing import Any, Protocol

import msgspec

from precast.base import digests
from precast.lang.issues import compiler as issues

Step = str | int
Path = tuple[Step, ...]
# A path in pieces: text, and between the texts identity facts left open, as facts or trusted with the path below.
OpenPath = tuple[str | Path, ...]


class Absent(enum.Enum):
    """What is not there: another thing than a fact whose value is undef."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
Answer = Any


class Question(msgspec.Struct, frozen=True, tag_field="ask"):
    """One thing that a compile wants to know."""


class FactPath(Question, frozen=True, tag="fact"):
    """The value below a path of the facts."""

    path: Path


class FactKeys(Question, frozen=True, tag="fact_keys"):
    """The keys of a fact that is a hash, in their order: all that an iteration over names needs."""

    path: Path


class FactKind(Question, frozen=True, tag="fact_kind"):
    """Whether a fact is absent, a string that is not empty, a hash or something else: all that a value left open needs."""

    path: Path


class FactAbsent(Question, frozen=True, tag="fact_absent"):
    """Whether no fact has the name of a variable that the top scope was asked for or assigns."""

    name: str


class TrustedPath(Question, frozen=True, tag="trusted"):
    path: Path


class TrustedKind(Question, frozen=True, tag="trusted_kind"):
    path: Path


class Classification(Question, frozen=True, tag="classification"):
    """The classes with parameters and the top-scope parameters that an operator gave the node."""


class NodeBlock(Question, frozen=True, tag="node_block"):
    """Which of these node blocks matches, as its index with the captures of its expression; absent if none does."""

    matchers: tuple[str, ...]


class FileDigest(Question, frozen=True, tag="file"):
    """The digest of a file of the environment, or its absence."""

    path: str


class Listing(Question, frozen=True, tag="listing"):
    """The names in a directory of the environment, sorted; directories end in a slash."""

    path: str


class ModulePlace(Question, frozen=True, tag="module"):
    """The directory of a module: the first of that name on the module path, or its absence."""

    name: str
    roots: tuple[str, ...]


class ModuleFile(Question, frozen=True, tag="module_file"):
    """The first file or directory of this path in any module, or its absence: which module brings a type or function."""

    path: str
    roots: tuple[str, ...]


class ModulePlugins(Question, frozen=True, tag="plugins"):
    """The Python files in the folders `precast` of all modules, as pairs of MODULE/KIND/FILE and digest."""

    roots: tuple[str, ...]


class DataFile(Question, frozen=True, tag="data_file"):
    """The digest of a data file, or its absence. Asked of the file, not of the facts that its path names."""

    path: OpenPath


class DataKey(Question, frozen=True, tag="data_key"):
    """The digest of what a data file has under a key, or its absence: all that remains of a file when it changes."""

    path: OpenPath
    key: str
    reader: str


class DecryptionKey(Question, frozen=True, tag="decryption_key"):
    """The fingerprint of the key that these options of hiera.yaml name, or its absence; never the key."""

    options: tuple[tuple[str, str], ...]


class ExportedQuery(Question, frozen=True, tag="exported"):
    """The resources that other nodes export and a collector's query matches."""

    type_name: str
    query: Any


class KeyedResult(Question, frozen=True, tag="keyed"):
    """The result of a pure function that mixes in the node's name: asked for whole, so that the name itself stays open."""

    function: str
    arguments: Any


class Constant(Question, frozen=True, tag="constant"):
    """Something that is the same for a whole deployment: a setting, a server fact, the moment of deployment."""

    name: str


class CompilerVersion(Question, frozen=True, tag="compiler"):
    pass


class Read(msgspec.Struct, frozen=True):
    """A question with its answer."""

    question: Question
    answer: Answer


class Answers(Protocol):
    """Where answers come from: a node's stored inputs and one version of an environment."""

    def answer(self, question: Question) -> Answer:
        """Plain data or ABSENT; the same for the same question, always."""

    def content(self, digest: digests.Digest) -> bytes:
        """The bytes of a file whose digest was an answer."""

    def decrypt(self, data: bytes, options: tuple[tuple[str, str], ...]) -> bytes:
        """What an encrypted value of the environment holds. Only asked where there is a key. Raises InputError HIERA-052."""


class Inputs:
    """The one way out of the language: asks, and keeps the trace."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._known: dict[Question, Answer] = {}

    def ask(self, question: Question) -> Answer:
        known = self._known
        if question in known:
            return known[question]
        answer = known[question] = self._answers.answer(question)
        return answer

    def text(self, path: str) -> tuple[digests.Digest, str] | None:
        """A file of the environment as text, with its digest; None if it is not there. Raises where it is not UTF-8."""
        digest = self.ask(FileDigest(path))
        if digest is ABSENT:
            return None
        try:
            return digest, self._answers.content(digest).decode("utf-8")
        except UnicodeDecodeError as error:
            raise issues.NOT_UTF8.error(path=path, offset=error.start) from None

    def content(self, path: str) -> bytes | None:
        """A file of the environment as it is; None if it is not there."""
        digest = self.ask(FileDigest(path))
        return None if digest is ABSENT else self._answers.content(digest)

    def content_of(self, digest: digests.Digest) -> bytes:
        """The bytes of a file whose digest was an answer."""
        return self._answers.content(digest)

    def decrypt(self, data: bytes, options: tuple[tuple[str, str], ...]) -> bytes:
        """An encrypted value with the key whose fingerprint is in the trace."""
        return self._answers.decrypt(data, options)

    def digest(self, path: str) -> digests.Digest | None:
        digest = self.ask(FileDigest(path))
        return None if digest is ABSENT else digest

    def listing(self, path: str) -> tuple[str, ...]:
        """The names in a directory; none if it is not there."""
        names = self.ask(Listing(path))
        return () if names is ABSENT else names

    @property
    def trace(self) -> tuple[Read, ...]:
        return tuple(Read(question, answer) for question, answer in self._known.items())
