"""Answers the questions of a compile for one node and one environment, from plain data.

Commands, tests and compile workers put these answers behind `Inputs`; the files come from a `FileStore`.
"""

import hashlib
import hmac
import posixpath
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

import msgspec

from precast.base import digests
from precast.lang import inputs
from precast.lang.compile_facts import CompileFacts, follow
from precast.lang.exports import KnownExports, OtherExports
from precast.lang.file_trees import FileStore
from precast.lang.inputs import ABSENT, Answer, Path, Question
from precast.lang.issues import compiler as issues
from precast.lang.node_matching import match_node
from precast.lang.puppetdb.answers import Fleet, NoFleet
from precast.lang.trusted_data import trusted_data

# Part of every trace. It changes with what a compile gives for the same answers, so that nodes get no leaf of an earlier compiler.
COMPILER_VERSION = "3"

SecretQuestion = inputs.DecryptionKey | inputs.SecretDocument | inputs.SecretValue | inputs.SecretPolicy
Keyed = Callable[["NodeAnswers", tuple[Any, ...]], Any]


class Decryptor(Protocol):
    """Holds the keys for encrypted data. The options are those of a level of hiera.yaml, without their secrets."""

    def fingerprint(self, options: Mapping[str, str]) -> str | None:
        """The fingerprint of the key that the options name; None if there is no such key."""

    def decrypt(self, data: bytes, options: Mapping[str, str]) -> bytes:
        """Decrypt a PKCS7 envelope. Raises InputError HIERA-052."""


class SecretSources(Protocol):
    """What an environment may read from secret sources. Paths are normalised, and may come from facts of the node."""

    def document(self, source: str, path: str) -> Answer:
        """True if the source has a document at the path; ABSENT, or DENIED."""

    def answer(self, source: str, path: str, field: str) -> Answer:
        """An HMAC of the value of a field, or of the whole document for an empty field; ABSENT, or DENIED."""

    def value(self, source: str, path: str, field: str) -> Any:
        """The value, as plain data, to which the last answer belongs."""

    def policy(self) -> str:
        """Whether a fact of the node may choose a secret: warn or refuse."""


class CostlyAnswers(Protocol):
    """Answers that depend on patterns and data files of an environment, which may take long and much memory to evaluate."""

    def match_node(self, matchers: tuple[str, ...], certname: str) -> Answer:
        """Which of these node blocks matches."""

    def data_key(
        self, digest: digests.Digest, reader: str, key: str, load: Callable[[digests.Digest], bytes]
    ) -> Answer:
        """The digest of the value that a data file has for a key."""


class _OwnCostlyAnswers:
    """The answers as a process evaluates them itself that may be killed: a compile worker, or a command."""

    def __init__(self, answer_key: bytes) -> None:
        self._answer_key = answer_key

    def match_node(self, matchers: tuple[str, ...], certname: str) -> Answer:
        return match_node(matchers, certname)

    def data_key(
        self, digest: digests.Digest, reader: str, key: str, load: Callable[[digests.Digest], bytes]
    ) -> Answer:
        return _content_of_data()(digest, reader, load).answer(key, self._answer_key)


class NodeData(msgspec.Struct, frozen=True):
    """The data known about a node before its compile, and the entry point that is compiled for it.

    Exact facts are not those of a machine: its flat names are not derived.
    """

    certname: str
    facts: dict[str, Any]
    trusted: dict[str, Any]
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}
    has_exact_facts: bool = False
    entry: str = ""

    @staticmethod
    def local(certname: str, facts: dict[str, Any], *, has_exact_facts: bool = False, entry: str = "") -> "NodeData":
        """A node for a command on this machine: no server knows it, so it has no certificate extensions and is not classified."""
        return NodeData(certname, facts, trusted_data(certname, {}), has_exact_facts=has_exact_facts, entry=entry)

    @property
    def compile_facts(self) -> CompileFacts:
        return CompileFacts(self.certname, self.facts, is_exact=self.has_exact_facts)

    def find(self, root: str, path: Path) -> Answer:
        """The value at a path of the facts or of the trusted data, as a compile sees it; ABSENT if there is none."""
        return self.compile_facts.find(path) if root == "facts" else follow(self.trusted, path)


class NodeAnswers:
    """Answers every question of the closed list."""

    def __init__(
        self,
        node: NodeData,
        files: FileStore,
        constants: Mapping[str, Any] | None = None,
        keyed: Mapping[str, Keyed] | None = None,
        decryptor: Decryptor | None = None,
        costly: CostlyAnswers | None = None,
        exports: OtherExports | None = None,
        answer_key: bytes = b"",
        fleet: Fleet | None = None,
        secrets: SecretSources | None = None,
    ) -> None:
        """`answer_key` authenticates the digests of data; commands on a machine, which keep no trace, have none."""
        self.node = node
        self.facts = node.compile_facts
        self._files = files
        self._constants = constants or {}
        self._data_digests: dict[inputs.OpenPath, Answer] = {}
        self._decryptor = decryptor
        self._secrets = secrets
        self._costly: CostlyAnswers = costly or _OwnCostlyAnswers(answer_key)
        self._exports: OtherExports = exports or KnownExports()
        self._fleet: Fleet = fleet or NoFleet()
        self._answer_key = answer_key
        self._keyed = {"fqdn_rand": _fqdn_rand, "fqdn_rotate": _fqdn_rotate, **(keyed or {})}

    def content(self, digest: digests.Digest) -> bytes:
        return self._files.content(digest)

    def decrypt(self, data: bytes, options: tuple[tuple[str, str], ...]) -> bytes:
        assert self._decryptor is not None, "asked only where there is a key"
        return self._decryptor.decrypt(data, dict(options))

    def exports(self, question: inputs.ExportedQuery) -> bytes:
        return self._exports.find(self.node.certname, question).exports

    def fleet(self, query: str) -> bytes:
        return self._fleet.find(self.node.certname, query).data

    def secret(self, question: inputs.SecretValue) -> Any:
        assert self._secrets is not None, "asked only where there was an answer"
        return self._secrets.value(question.source, self._secret_path(question.path), question.field)

    def answer(self, question: Question) -> Answer:
        match question:
            # The most frequent questions come first: walking a trace asks little else.
            case inputs.DataKey(path, key, reader):
                return self._data_key(path, key, reader)
            case inputs.FactPath(path):
                return self.facts.find(path)
            case inputs.FileDigest(path):
                return self._files.digest(path)
            case inputs.FactAbsent(name):
                return self.facts.is_absent(name)
            case inputs.FactKind(path):
                return kind_of(self.facts.find(path))
            case inputs.FactKeys(path):
                return keys_of(self.facts.find(path))
            case inputs.TrustedPath(path):
                return follow(self.node.trusted, path)
            case inputs.DataFile(path):
                return self._data_digest(path)
            case inputs.Listing(path):
                return self._files.names(path)
            case inputs.ModuleDirectory(name, roots):
                return self._files.modules(roots).get(name, ABSENT)
            case inputs.ModuleFile(path, roots):
                return self._files.module_file(path, roots)
            case _:
                return self._answer_rare(question)

    def _data_digest(self, path: inputs.OpenPath) -> Answer:
        """The digest of a data file; needed for every key of the file, so it is cached."""
        digest = self._data_digests.get(path)
        if digest is None:
            digest = self._data_digests[path] = self._files.digest(self._filled(path))
        return digest

    def _filled(self, path: inputs.OpenPath) -> str:
        """A path with this node's facts filled into its holes."""
        filled = "".join(part if isinstance(part, str) else str(self._open_part(part)) for part in path)
        # A fact may contain dots and slashes; a plain path was normalised before the question.
        if len(path) == 1:
            return filled
        normalised = posixpath.normpath(filled)
        return "" if normalised.startswith("../") else normalised  # no file has an empty name

    def _secret_path(self, path: inputs.OpenPath) -> str:
        """The path of a secret with this node's facts in it; empty if it leads out of where it begins, which is nowhere."""
        filled = posixpath.normpath(
            "".join(part if isinstance(part, str) else str(self._open_part(part)) for part in path)
        )
        return "" if filled.startswith(("/", "..")) or filled == "." else filled

    def _answer_secret(self, question: SecretQuestion) -> Answer:
        if isinstance(question, inputs.DecryptionKey):
            return self._fingerprint(question.options)
        if isinstance(question, inputs.SecretPolicy):
            return "warn" if self._secrets is None else self._secrets.policy()
        filled = self._secret_path(question.path)
        if self._secrets is None or not filled:
            return inputs.DENIED
        if isinstance(question, inputs.SecretDocument):
            return self._secrets.document(question.source, filled)
        return self._secrets.answer(question.source, filled, question.field)

    def _fingerprint(self, options: tuple[tuple[str, str], ...]) -> Answer:
        fingerprint = self._decryptor.fingerprint(dict(options)) if self._decryptor is not None else None
        return ABSENT if fingerprint is None else fingerprint

    def _open_part(self, part: Path) -> Any:
        return self.facts.find(part[1:]) if part[0] == "facts" else follow(self.node.trusted, part[1:])

    def _data_key(self, path: inputs.OpenPath, key: str, reader: str) -> Answer:
        digest = self._data_digest(path)
        if digest is ABSENT:
            return ABSENT
        return self._costly.data_key(digest, reader, key, self.content)

    def _answer_about_others(self, question: inputs.ExportedQuery | inputs.FleetQuery) -> Answer:
        if isinstance(question, inputs.FleetQuery):
            return self._fleet.find(self.node.certname, question.query).digest
        return self._exports.find(self.node.certname, question).digest

    def _module_fact(self, name: str, roots: tuple[str, ...], *, has_unread: bool) -> Answer:
        if any(plugin.endswith(f"/facts/{name}.py") for plugin, _ in self._files.plugins(roots)):
            return ABSENT
        for path, reader in self._files.fact_files(roots):
            digest = self._files.digest(path)
            reader = "ruby_facts" if has_unread and reader == "refused_ruby_facts" else reader
            answer = ABSENT if digest is ABSENT else self._costly.data_key(digest, reader, name, self.content)
            # The answer for every key of a file that cannot be read ends with the digest of the file.
            if answer is not ABSENT and not answer.endswith(f":{digest}"):
                return path
        return ABSENT

    def _answer_about_modules(
        self, question: inputs.ModulePlugins | inputs.ModulesWithType | inputs.ModuleLibrary
    ) -> Answer:
        match question:
            case inputs.ModulesWithType(name, roots):
                return self._files.modules_with_type(name, roots)
            case inputs.ModuleLibrary(module, roots):
                return self._files.library(module, roots)
        return self._files.plugins(question.roots)

    def _answer_rare(self, question: Question) -> Answer:
        match question:
            case inputs.EntryPoint():
                return self.node.entry
            case inputs.TrustedKind(path):
                return kind_of(follow(self.node.trusted, path))
            case inputs.ModulePlugins() | inputs.ModulesWithType() | inputs.ModuleLibrary():
                return self._answer_about_modules(question)
            case inputs.ModuleFact(name, roots, has_unread):
                return self._module_fact(name, roots, has_unread=has_unread)
            case inputs.MatchingNodeBlock(matchers):
                return self._costly.match_node(matchers, self.node.certname)
            case inputs.Classification():
                return {"classes": self.node.classes, "parameters": self.node.parameters}
            case inputs.Constant(name):
                return self._constants.get(name, ABSENT)
            case inputs.CompilerVersion():
                return _compiler_version(self._answer_key)
            case inputs.KeyedResult(function, arguments) if function in self._keyed:
                return self._keyed[function](self, tuple(arguments))
            case inputs.DecryptionKey() | inputs.SecretDocument() | inputs.SecretValue() | inputs.SecretPolicy():
                return self._answer_secret(question)
            case inputs.ExportedQuery() | inputs.FleetQuery():
                return self._answer_about_others(question)
            case _:
                raise issues.UNKNOWN_QUESTION.error(question=type(question).__name__)


def _compiler_version(answer_key: bytes) -> str:
    """With another key every trace is another one, and every catalog is compiled again, with references under that key."""
    if not answer_key:
        return COMPILER_VERSION
    return f"{COMPILER_VERSION} {hmac.digest(answer_key, b'id', hashlib.sha256).hex()[:12]}"


def _fqdn_rand(answers: NodeAnswers, arguments: tuple[Any, ...]) -> Any:
    name = answers.facts.find(("networking", "fqdn"))
    from precast.lang.functions.fqdn_rand import fqdn_rand

    return fqdn_rand("" if name is ABSENT else name, *arguments)


def _fqdn_rotate(answers: NodeAnswers, arguments: tuple[Any, ...]) -> Any:
    name = answers.facts.find(("fqdn",))
    from precast.lang.functions.fqdn_rand import seeded_draw

    return seeded_draw(f"{'' if name is ABSENT else name}:{arguments[1]}", arguments[0])


@cache
def _content_of_data() -> Callable[..., Any]:
    from precast.lang.hiera.data.files import content  # imports YAML, which many compiles never need

    return content


def kind_of(data: Answer) -> str:
    if data is ABSENT:
        return "absent"
    if isinstance(data, dict):
        return "hash"
    return "string" if isinstance(data, str) and data else "other"


def keys_of(data: Answer) -> Answer:
    return tuple(data) if isinstance(data, dict) else ABSENT
