"""Every question a compile may ask, and the record of those it asked.

A catalog is a pure function of the answers to these questions, so the list is closed: a compile cannot read anything else. The
record holds each question once, in the order of first asking. A cache that could save a question asks it all the same, so the
trace of a warm process equals that of a fresh one.

Answers are plain JSON data, or `ABSENT`. A file's content is not an answer of its own: its digest is, and determines the bytes.
"""

import enum
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from precast.base import digests
from precast.catalog.exports import ExportedResource, decode_exports
from precast.catalog.sensitive import texts
from precast.lang.issues import compiler as issues
from precast.lang.issues import secrets as secret_issues
from precast.lang.puppetdb.answers import FleetAnswer, decode_answer

if TYPE_CHECKING:
    from precast.lang.values.secret_texts import SecretTexts

Step = str | int
Path = tuple[Step, ...]
# A path in pieces: text, and between the texts identity facts left as holes: "facts" or "trusted" with the path below.
OpenPath = tuple[str | Path, ...]


class Absent(enum.Enum):
    """The value does not exist, which differs from a fact whose value is undef."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
# The answer about a secret that the configuration of the server does not let the environment read. No HMAC equals it.
DENIED = "denied"
Answer = Any


class Question(msgspec.Struct, frozen=True, tag_field="ask"):
    """One question of a compile. It is a key of the trace, so its data has tuples, also when it was read from JSON."""


class EntryPoint(Question, frozen=True, tag="entry"):
    """The manifest of the environment that is evaluated instead of its main manifest; empty for that one. A compile asks it first."""


class FactPath(Question, frozen=True, tag="fact"):
    """The value at a path of the facts."""

    path: Path


class FactKeys(Question, frozen=True, tag="fact_keys"):
    """The keys of a fact that is a hash, in their order; enough for an iteration over names."""

    path: Path


class FactKind(Question, frozen=True, tag="fact_kind"):
    """Whether a fact is absent, a non-empty string, a hash or something else; enough for a value that stays a hole."""

    path: Path


class FactAbsent(Question, frozen=True, tag="fact_absent"):
    """Whether no fact has the name of a variable that the code reads from or assigns in the top scope."""

    name: str


class TrustedPath(Question, frozen=True, tag="trusted"):
    path: Path


class TrustedKind(Question, frozen=True, tag="trusted_kind"):
    path: Path


class Classification(Question, frozen=True, tag="classification"):
    """The classes, with their parameters, and the top-scope parameters that an operator assigned to the node."""


class MatchingNodeBlock(Question, frozen=True, tag="node_block"):
    """Which of these node blocks matches: its index and the captures of its expression; absent if none matches."""

    matchers: tuple[str, ...]


class FileDigest(Question, frozen=True, tag="file"):
    """The digest of a file of the environment; absent if there is no such file."""

    path: str


class Listing(Question, frozen=True, tag="listing"):
    """The names in a directory of the environment, sorted; directories end in a slash."""

    path: str


class ModuleDirectory(Question, frozen=True, tag="module"):
    """The directory of a module: the first with that name on the module path; absent if there is none."""

    name: str
    roots: tuple[str, ...]


class ModuleFile(Question, frozen=True, tag="module_file"):
    """The first file or directory with this path in any module, or absent: which module provides a type or function."""

    path: str
    roots: tuple[str, ...]


class ModulePlugins(Question, frozen=True, tag="plugins"):
    """The Python files in the `precast` folders of all modules, as pairs of MODULE/KIND/FILE and digest."""

    roots: tuple[str, ...]


class ModulesWithType(Question, frozen=True, tag="modules_with_type"):
    """The modules that have the type with this name or providers of it in Ruby, sorted."""

    type_name: str
    roots: tuple[str, ...]


class ModuleLibrary(Question, frozen=True, tag="library"):
    """The files below `lib` of a module that a node needs to run its types and providers, as pairs of path and digest."""

    module: str
    roots: tuple[str, ...]


class ModuleFact(Question, frozen=True, tag="module_fact"):
    """The file in which a module adds a fact that nodes do not read; absent if none does. Asked for facts that the node does not have.

    With `has_unread`, for a node that has read no Ruby facts of modules yet, also a file that nodes read.
    """

    name: str
    roots: tuple[str, ...]
    has_unread: bool = False


class DataFile(Question, frozen=True, tag="data_file"):
    """The digest of a data file, or absent. The question names the file, not the facts that its path contains."""

    path: OpenPath


class DataKey(Question, frozen=True, tag="data_key"):
    """The digest of the value that a data file has for a key, or absent: a change elsewhere in the file is not a new answer."""

    path: OpenPath
    key: str
    reader: str


class DecryptionKey(Question, frozen=True, tag="decryption_key"):
    """The fingerprint of the key that these options of hiera.yaml name, or absent; never the key itself."""

    options: tuple[tuple[str, str], ...]


class SecretDocument(Question, frozen=True, tag="secret_document"):
    """Whether a secret source has a document at this path, or absent; `DENIED` if the code must not read it."""

    source: str
    path: OpenPath


class SecretValue(Question, frozen=True, tag="secret"):
    """An HMAC of the value that a field of such a document has, or absent; an empty field stands for the whole document."""

    source: str
    path: OpenPath
    field: str


class SecretPolicy(Question, frozen=True, tag="secret_policy"):
    """What an operator decided about facts that choose a secret: warn or refuse. Asked only where a fact does."""


class ExportedQuery(Question, frozen=True, tag="exported"):
    """The digest of the resources that other nodes export and a collector's query matches; `exports` describes the query."""

    type_name: str
    query: Any

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "query", _with_tuples(self.query))


class FleetQuery(Question, frozen=True, tag="fleet"):
    """The digest of the answer to a query over all nodes; `puppetdb/queries` describes the query."""

    query: str


class KeyedResult(Question, frozen=True, tag="keyed"):
    """The result of a pure function that mixes in the node's name. Asking for the result keeps the name itself a hole."""

    function: str
    arguments: Any

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "arguments", _with_tuples(self.arguments))


class Constant(Question, frozen=True, tag="constant"):
    """A value that is the same for a whole deployment: a setting, a server fact, the time of deployment."""

    name: str


class CompilerVersion(Question, frozen=True, tag="compiler"):
    pass


def _with_tuples(data: Any) -> Any:
    return tuple(map(_with_tuples, data)) if isinstance(data, list | tuple) else data


class Read(msgspec.Struct, frozen=True):
    """A question with its answer."""

    question: Question
    answer: Answer


class Answers(Protocol):
    """Answers questions from a node's stored inputs and one version of an environment."""

    def answer(self, question: Question) -> Answer:
        """Plain data or ABSENT; equal questions always get equal answers."""

    def content(self, digest: digests.Digest) -> bytes:
        """The bytes of a file whose digest was an earlier answer."""

    def decrypt(self, data: bytes, options: tuple[tuple[str, str], ...]) -> bytes:
        """Decrypt an encrypted value of the environment. Called only if there is a key. Raises InputError HIERA-052."""

    def exports(self, question: ExportedQuery) -> bytes:
        """The list of exported resources whose digest was an earlier answer, as canonical JSON."""

    def fleet(self, query: str) -> bytes:
        """The answer to a query whose digest was an earlier answer, as canonical JSON."""

    def secret(self, question: SecretValue) -> Any:
        """The value, as plain data, whose HMAC was the answer to the question."""


class Inputs:
    """The language's only access to the outside: asks questions, records the trace, and collects the secrets of the compile."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._secrets: SecretTexts | None = None
        self._known: dict[Question, Answer] = {}

    @property
    def secrets(self) -> "SecretTexts":
        """The secrets of the compile; made when code is evaluated. A check whether inputs have changed does not load the language."""
        if self._secrets is None:
            from precast.lang.values.secret_texts import SecretTexts

            self._secrets = SecretTexts()
        return self._secrets

    def ask(self, question: Question) -> Answer:
        known = self._known
        if question in known:
            return known[question]
        if self._secrets is not None and self._secrets.unwraps:
            self._refuse_secret(question)
        answer = known[question] = self._answers.answer(question)
        return answer

    def _refuse_secret(self, question: Question) -> None:
        """Raises LANG-790 for a question with an unwrapped secret: the trace, which is stored, has questions as they are."""
        if self.secrets.is_in_name("\0".join(texts(msgspec.to_builtins(question)))):
            what = f"a question of the compile ({question.__struct_config__.tag})"
            raise issues.SECRET_IN_NAME.error(what=what)

    def text(self, path: str) -> tuple[digests.Digest, str] | None:
        """A file of the environment as text, with its digest; None if it does not exist. Raises if it is not UTF-8."""
        digest = self.ask(FileDigest(path))
        if digest is ABSENT:
            return None
        try:
            return digest, self._answers.content(digest).decode("utf-8")
        except UnicodeDecodeError as error:
            raise issues.NOT_UTF8.error(path=path, offset=error.start) from None

    def content(self, path: str) -> bytes | None:
        """The bytes of a file of the environment; None if it does not exist."""
        digest = self.ask(FileDigest(path))
        return None if digest is ABSENT else self._answers.content(digest)

    def content_of(self, digest: digests.Digest) -> bytes:
        """The bytes of a file whose digest was an earlier answer."""
        return self._answers.content(digest)

    def decrypt(self, data: bytes, options: tuple[tuple[str, str], ...]) -> bytes:
        """Decrypt a value with the key whose fingerprint is in the trace."""
        return self._answers.decrypt(data, options)

    def exports(self, question: ExportedQuery) -> list[ExportedResource]:
        """The resources of other nodes that a query matches, in their order."""
        self.ask(question)
        return decode_exports(self._answers.exports(question))

    def query_fleet(self, query: str) -> FleetAnswer:
        """The answer to a query over all nodes."""
        self.ask(FleetQuery(query))
        return decode_answer(self._answers.fleet(query))

    def has_secrets(self, source: str, path: OpenPath) -> bool:
        """Whether a secret source has a document at a path. Raises SECRET-030 if the server does not let this environment read it."""
        answer = self.ask(SecretDocument(source, path))
        if answer == DENIED:
            raise secret_issues.DENIED.error(source=source)
        return answer is not ABSENT

    def secret(self, source: str, path: OpenPath, field: str) -> Any:
        """The value of a field of an existing document, or of the whole document, as plain data; ABSENT if there is none."""
        question = SecretValue(source, path, field)
        return ABSENT if self.ask(question) is ABSENT else self._answers.secret(question)

    def digest(self, path: str) -> digests.Digest | None:
        digest = self.ask(FileDigest(path))
        return None if digest is ABSENT else digest

    def listing(self, path: str) -> tuple[str, ...]:
        """The names in a directory; empty if it does not exist."""
        names = self.ask(Listing(path))
        return () if names is ABSENT else names

    @property
    def trace(self) -> tuple[Read, ...]:
        return tuple(Read(question, answer) for question, answer in self._known.items())
