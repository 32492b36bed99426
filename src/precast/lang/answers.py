"""Answers for one node and one environment, from plain data: what commands, tests and compile workers put behind `Inputs`.

Files come from a `FileTree`, which never changes while it is used; each is read once and known by its digest from then on.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

import msgspec

from precast.base import digests
from precast.lang import inputs
from precast.lang.inputs import ABSENT, Answer, Path, Question
from precast.lang.issues import compiler as issues

COMPILER_VERSION = "1"
# A regular expression among the names of node blocks is written between slashes.
_REGEX = re.compile(r"/(.*)/", re.DOTALL)
# What a directory on the module path must be called to be a module, as a listing has it.
PLUGIN_KINDS = ("facts", "functions", "types")
_PLUGIN = re.compile(r"[a-z]\w*\.py")
_MODULE_DIRECTORY = re.compile(r"[a-z][a-z0-9_]*/")

Keyed = Callable[["NodeAnswers", tuple[Any, ...]], Any]


class FileTree(Protocol):
    """One version of an environment's files. Paths are relative to it, or absolute for modules outside."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None if there is none."""

    def names(self, path: str) -> tuple[str, ...] | None:
        """What a directory holds, sorted, directories with a slash at the end; None if there is none."""


class TextTree:
    """Files given as texts by their paths: for rows of truth and tests."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = dict(files)

    def read(self, path: str) -> bytes | None:
        text = self._files.get(path)
        return None if text is None else text.encode()

    def names(self, path: str) -> tuple[str, ...] | None:
        prefix = f"{path}/" if path else ""
        rests = [name.removeprefix(prefix) for name in self._files if name.startswith(prefix)]
        if not rests:
            return None
        return tuple(sorted({rest.partition("/")[0] + ("/" if "/" in rest else "") for rest in rests}))


class FileStore:
    """The files of a tree by digest, read once: shared by all compiles over that tree."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree
        self._digests: dict[str, Answer] = {}
        self._contents: dict[str, bytes] = {}
        self._names: dict[str, Answer] = {}
        self._modules: dict[tuple[str, ...], dict[str, str]] = {}
        self._plugins: dict[tuple[str, ...], tuple[tuple[str, digests.Digest], ...]] = {}
        self._module_files: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}

    def digest(self, path: str) -> Answer:
        if path not in self._digests:
            data = self._tree.read(path)
            self._digests[path] = ABSENT if data is None else digests.of_bytes(data)
            if data is not None:
                self._contents[self._digests[path]] = data
        return self._digests[path]

    def content(self, digest: digests.Digest) -> bytes:
        return self._contents[digest]

    def names(self, path: str) -> Answer:
        if path not in self._names:
            names = self._tree.names(path)
            self._names[path] = ABSENT if names is None else names
        return self._names[path]

    def modules(self, roots: tuple[str, ...]) -> dict[str, str]:
        """The directories of all modules on a path by name; the first of a name hides those after it."""
        if roots not in self._modules:
            found: dict[str, str] = {}
            for root in roots:
                names = self.names(root)
                for name in () if names is ABSENT else names:
                    if _MODULE_DIRECTORY.fullmatch(name):
                        found.setdefault(name.rstrip("/"), f"{root}/{name.rstrip('/')}")
            self._modules[roots] = found
        return self._modules[roots]

    def plugins(self, roots: tuple[str, ...]) -> tuple[tuple[str, digests.Digest], ...]:
        """The plug-ins of all modules, looked for once."""
        if roots not in self._plugins:
            self._plugins[roots] = tuple(
                (f"{module}/{kind}/{name}", digest)
                for module, directory in sorted(self.modules(roots).items())
                if self.names(f"{directory}/precast") is not ABSENT
                for kind in PLUGIN_KINDS
                for name in self._listed(f"{directory}/precast/{kind}")
                if _PLUGIN.fullmatch(name)
                and (digest := self.digest(f"{directory}/precast/{kind}/{name}")) is not ABSENT
            )
        return self._plugins[roots]

    def _listed(self, path: str) -> tuple[str, ...]:
        names = self.names(path)
        return () if names is ABSENT else names

    def module_file(self, path: str, roots: tuple[str, ...]) -> Answer:
        """The first module's file or directory of that path inside it; each folder is looked through once."""
        folder, _, wanted = path.rpartition("/")
        known = self._module_files.get((folder, roots))
        if known is None:
            known = self._module_files[folder, roots] = {}
            for directory in self.modules(roots).values():
                names = self.names(f"{directory}/{folder}")
                for name in () if names is ABSENT else names:
                    leaf = name.rstrip("/")
                    known.setdefault(leaf, f"{directory}/{folder}/{leaf}")
        return known.get(wanted, ABSENT)


class Decryptor(Protocol):
    """Who has the keys for encrypted data. The options are those of a level of hiera.yaml, without their secrets."""

    def fingerprint(self, options: Mapping[str, str]) -> str | None:
        """Of the key that the options name; None if there is none."""

    def decrypt(self, data: bytes, options: Mapping[str, str]) -> bytes:
        """The plain content of a PKCS7 envelope. Raises InputError HIERA-052."""


class NodeData(msgspec.Struct, frozen=True):
    """What is known of a node before its compile."""

    certname: str
    facts: dict[str, Any]
    trusted: dict[str, Any]
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}

    @staticmethod
    def local(certname: str, facts: dict[str, Any]) -> "NodeData":
        """A node as a command on this machine sees it: nobody has vouched for it, so it has no extensions."""
        host, _, domain = certname.partition(".")
        trusted = {
            "authenticated": "remote",
            "certname": certname,
            "extensions": {},
            "hostname": host,
            "domain": domain,
            "external": {},
        }
        return NodeData(certname, facts, trusted)


class NodeAnswers:
    """Answers every question of the closed list."""

    def __init__(
        self,
        node: NodeData,
        files: FileStore,
        constants: Mapping[str, Any] | None = None,
        keyed: Mapping[str, Keyed] | None = None,
        decryptor: Decryptor | None = None,
    ) -> None:
        self.node = node
        self._files = files
        self._constants = constants or {}
        self._data_digests: dict[inputs.OpenPath, Answer] = {}
        self._decryptor = decryptor
        self._keyed = {"fqdn_rand": _fqdn_rand, "fqdn_rotate": _fqdn_rotate, **(keyed or {})}

    def content(self, digest: digests.Digest) -> bytes:
        return self._files.content(digest)

    def decrypt(self, data: bytes, options: tuple[tuple[str, str], ...]) -> bytes:
        assert self._decryptor is not None, "asked only where there is a key"
        return self._decryptor.decrypt(data, dict(options))

    def answer(self, question: Question) -> Answer:
        match question:
            # The most frequent first: a walk asks little else.
            case inputs.DataKey(path, key, reader):
                return self._data_key(path, key, reader)
            case inputs.FactPath(path):
                return follow(self.node.facts, path)
            case inputs.FileDigest(path):
                return self._files.digest(path)
            case inputs.FactAbsent(name):
                return name not in self.node.facts
            case inputs.FactKind(path):
                return kind_of(follow(self.node.facts, path))
            case inputs.FactKeys(path):
                return keys_of(follow(self.node.facts, path))
            case inputs.TrustedPath(path):
                return follow(self.node.trusted, path)
            case inputs.DataFile(path):
                return self._data_digest(path)
            case inputs.Listing(path):
                return self._files.names(path)
            case inputs.ModulePlace(name, roots):
                return self._files.modules(roots).get(name, ABSENT)
            case inputs.ModuleFile(path, roots):
                return self._files.module_file(path, roots)
            case _:
                return self._answer_rare(question)

    def _data_digest(self, path: inputs.OpenPath) -> Answer:
        """Of a data file; asked for every key of it, and found once."""
        digest = self._data_digests.get(path)
        if digest is None:
            digest = self._data_digests[path] = self._files.digest(self._filled(path))
        return digest

    def _filled(self, path: inputs.OpenPath) -> str:
        """A path with this node's facts in the places left open."""
        filled = "".join(part if isinstance(part, str) else str(self._open_part(part)) for part in path)
        # A fact may bring dots and slashes with it; a plain path has been settled before it was asked for.
        if len(path) == 1:
            return filled
        settled = posixpath.normpath(filled)
        return "" if settled.startswith("../") else settled  # there is no file without a name

    def _open_part(self, part: Path) -> Any:
        return follow(self.node.facts if part[0] == "facts" else self.node.trusted, part[1:])

    def _data_key(self, path: inputs.OpenPath, key: str, reader: str) -> Answer:
        digest = self._data_digest(path)
        if digest is ABSENT:
            return ABSENT
        return _content_of_data()(digest, reader, self.content).answer(key)

    def _answer_rare(self, question: Question) -> Answer:
        match question:
            case inputs.TrustedKind(path):
                return kind_of(follow(self.node.trusted, path))
            case inputs.ModulePlugins(roots):
                return self._files.plugins(roots)
            case inputs.NodeBlock(matchers):
                return match_node(matchers, self.node.certname)
            case inputs.Classification():
                return {"classes": self.node.classes, "parameters": self.node.parameters}
            case inputs.Constant(name):
                return self._constants.get(name, ABSENT)
            case inputs.CompilerVersion():
                return COMPILER_VERSION
            case inputs.KeyedResult(function, arguments) if function in self._keyed:
                return self._keyed[function](self, tuple(arguments))
            case inputs.DecryptionKey(options):
                found = self._decryptor.fingerprint(dict(options)) if self._decryptor is not None else None
                return ABSENT if found is None else found
            case inputs.ExportedQuery():
                return ()
            case _:
                raise issues.UNKNOWN_QUESTION.error(question=type(question).__name__)


def _fqdn_rand(answers: NodeAnswers, arguments: tuple[Any, ...]) -> Any:
    name = follow(answers.node.facts, ("networking", "fqdn"))
    from precast.lang.functions.chance import fqdn_rand

    return fqdn_rand("" if name is ABSENT else name, *arguments)


def _fqdn_rotate(answers: NodeAnswers, arguments: tuple[Any, ...]) -> Any:
    name = follow(answers.node.facts, ("fqdn",))
    from precast.lang.functions.chance import seeded_draw

    return seeded_draw(f"{'' if name is ABSENT else name}:{arguments[1]}", arguments[0])


@cache
def _content_of_data() -> Callable[..., Any]:
    from precast.lang.hiera.data.files import content  # brings YAML with it, which many compiles never need

    return content


def follow(data: Any, path: Path) -> Answer:
    """What lies below a path of plain data; ABSENT if something on the way is not there."""
    for step in path:
        if not _has(data, step):
            return ABSENT
        data = data[step]
    return data


def _has(data: Any, step: str | int) -> bool:
    if isinstance(data, dict):
        return step in data
    return isinstance(data, list | tuple) and isinstance(step, int) and -len(data) <= step < len(data)


def kind_of(data: Answer) -> str:
    if data is ABSENT:
        return "absent"
    if isinstance(data, dict):
        return "hash"
    return "string" if isinstance(data, str) and data else "other"


def keys_of(data: Answer) -> Answer:
    return tuple(data) if isinstance(data, dict) else ABSENT


def match_node(matchers: tuple[str, ...], certname: str) -> Answer:
    """The block for a node: its whole name, then expressions in the order written, then its name cut at dots, then default."""
    exact = {matcher: index for index, matcher in enumerate(matchers) if not _REGEX.fullmatch(matcher)}
    name = certname.lower()
    if name in exact:
        return exact[name], ()
    for index, matcher in enumerate(matchers):
        expression = _REGEX.fullmatch(matcher)
        if expression and (found := re.search(expression[1], certname)):
            return index, (found[0], *found.groups())
    if "default" in exact:
        return exact["default"], ()
    return ABSENT
