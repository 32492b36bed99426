"""Finds which Ruby facts of an environment's modules the subset cannot read, before any node has them.

Nothing is run: a fact is refused for what its own block uses, the methods it calls and the constants it names in other files, and what
stands before it outside of any fact. Code that names things while it runs, as `send` does, is found on the node.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

from precast.base.digests import of_bytes
from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang.fact_files import ruby_fact_files
from precast.lang.functions.ruby.checking import Finding, Vocabulary, find_unknown_nodes, walk
from precast.lang.module_facts import evaluation  # noqa: F401 - declares what facts can call
from precast.lang.module_facts.collection import is_fact_file, place_of
from precast.lang.module_facts.tables import CLASS_METHODS, FUNCTIONS
from precast.lang.ruby.declarations.facts import AddedFact, every_added_fact
from precast.lang.ruby.declarations.file_lexer import lex_file
from precast.lang.ruby.declarations.ruby_file import load_ruby_file
from precast.lang.ruby.methods.constants import is_builtin
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.parser import parse_tokens

if TYPE_CHECKING:
    from precast.lang.file_trees import FileStore

# A file of a module, not a library, is required.
_REQUIRES_CODE = re.compile(
    r"\b(?:require_relative|load|require)\b[ (]+(?:File\b|['\"](?:\.|facter/|puppet_x/|puppet/util/|puppetx?/|[\w/]+/[\w/]+/))"
)
_VOCABULARY = Vocabulary(CLASS_METHODS, FUNCTIONS)


class FactStatus(NamedTuple):
    """A fact of a module, where it is added, and the first thing that keeps nodes from reading it; the name is None if it is computed."""

    name: str | None
    module: str
    path: str
    line: int
    finding: Finding | None


class _File(NamedTuple):
    """A file of facts: its module, its text, its facts, and what keeps it from being read at all."""

    module: str
    path: str  # MODULE/lib/…
    source: Source
    facts: list[AddedFact]
    tree: nodes.Node | None
    problem: Finding | None


def check_facts(files: "FileStore", roots: tuple[str, ...]) -> list[FactStatus]:
    """Every fact that modules add in Ruby, in the order of modules and files."""
    found = [_read(files, module, inner, path) for (module, inner), path in ruby_fact_files(files, roots).items()]
    texts = "".join(file.source.text for file in found if "/lib/facter/" in file.path)
    read = [file for file in found if "/lib/facter/" in file.path or _is_named(file.path, texts)]
    known = [(file.source, file.tree) for file in read if file.tree is not None]
    unknown = list(find_unknown_nodes(*(source for source, _ in known), vocabulary=_VOCABULARY))
    shared = _Shared(known, unknown)
    return [status for file in read if is_fact_file(file.path) for status in _statuses(file, shared)]


def _is_named(path: str, texts: str) -> bool:
    """Whether the files of facts require another file."""
    return path.partition("/lib/")[2].removesuffix(".rb") in texts


def _statuses(file: _File, shared: "_Shared") -> list[FactStatus]:
    """The facts of a file, each name once: a fact that is added in several ways is refused if one of them is."""
    found: dict[tuple[str | None, int], FactStatus] = {}
    for fact in file.facts:
        key = (fact.name, 0 if fact.name is not None else fact.line)
        finding = file.problem or shared.finding(file, fact.line)
        known = found.setdefault(key, FactStatus(fact.name, file.module, file.source.path, fact.line, finding))
        if known.finding is None and finding is not None:
            found[key] = known._replace(finding=finding)
    return list(found.values())


def _read(files: "FileStore", module: str, inner: str, path: str) -> _File:
    digest = files.digest(path)
    return _read_source(Source(path, files.content(digest).decode("utf-8", "replace")), module, f"{module}/lib/{inner}")


def _read_source(source: Source, module: str, place: str) -> _File:
    path = source.path
    code = load_ruby_file(path, of_bytes(source.text.encode()), source.text)
    facts = every_added_fact(code) if code is not None else [AddedFact(None, 1)]
    try:
        return _File(module, place, source, facts, parse_tokens(source, lex_file(source)[:-1]), None)
    except PrecastError as error:
        line = place_of(error, f"{path}:1").rpartition(":")[2]
        return _File(module, place, source, facts, None, Finding(path, int(line), error.message))
    except RecursionError:
        return _File(module, place, source, facts, None, Finding(path, 1, "the code is nested too deeply"))


class _Shared:
    """What is unknown in all files, by where it counts: in the block of a fact, in a method or constant, or at the top of a file."""

    def __init__(self, known: list[tuple[Source, nodes.Node]], unknown: list[tuple[Source, nodes.Node, str]]) -> None:
        self._unknown: dict[str, dict[Span, str]] = {}
        for source, node, reason in unknown:
            self._unknown.setdefault(source.path, {}).setdefault(node.span, reason)
        self._blocks: dict[tuple[str, int], list[nodes.Node]] = {}
        self._inside: dict[str, set[Span]] = {}
        self._by_name: dict[tuple[str, str], Finding] = {}  # of methods with their files, of classes without
        for source, tree in known:
            self._add(source, tree)

    def _add(self, source: Source, tree: nodes.Node) -> None:
        found = self._unknown.get(source.path, {})
        inside = self._inside.setdefault(source.path, set())
        for node in walk(tree):
            if (start := _start_of_add(node)) is not None:
                line = source.position(start).line
                self._blocks.setdefault((source.path, line), []).append(node)
                inside.update(part.span for part in walk(node))
            elif isinstance(node, nodes.MethodDefinition | nodes.ClassDefinition):
                owner = source.path if isinstance(node, nodes.MethodDefinition) else ""
                parts = [part.span for part in walk(node)]
                inside.update(parts)
                first = next((span for span in parts if span in found), None)
                if first is not None and not is_builtin(node.name):
                    finding = Finding(source.path, source.position(first.start).line, found[first])
                    self._by_name.setdefault((owner, node.name), finding)

    def finding(self, file: _File, line: int) -> Finding | None:
        """What keeps the fact that a file adds in a line from being read."""
        path, source = file.source.path, file.source
        found = self._unknown.get(path, {})
        for block in self._blocks.get((path, line), ()):
            for part in walk(block):
                if part.span in found:
                    return Finding(path, source.position(part.span.start).line, found[part.span])
                owner = "" if isinstance(part, nodes.Const) else path
                if (named := self._by_name.get((owner, _name_of(part)))) is not None:
                    return named
        for span, reason in found.items():
            at = source.position(span.start).line
            if span not in self._inside[path] and at < line:
                return Finding(path, at, reason)
        return None


def _start_of_add(node: nodes.Node) -> int | None:
    """Where a `Facter.add` begins; None for other nodes."""
    match node:
        case nodes.Call(receiver=nodes.Const(name="Facter", span=span), name="add" | "define_fact"):
            return span.start
    return None


def _name_of(node: nodes.Node) -> str:
    """The name of the method or constant that a node uses; empty for other nodes."""
    match node:
        case nodes.Const(name=name) | nodes.Name(name=name):
            return name
        case nodes.Call(receiver=None, name=name):
            return name
    return ""


def refused_facts(source: Source) -> dict[str, int]:
    """The facts of one file that nodes cannot read, with their lines. What it requires from other files is taken for readable."""
    file = _read_source(source, "", f"m/lib/facter/{source.path}")
    unknown = [] if file.tree is None else list(find_unknown_nodes(source, vocabulary=_VOCABULARY))
    if _REQUIRES_CODE.search(source.text):
        unknown = [(each, node, reason) for each, node, reason in unknown if not _may_be_shared(node)]
    shared = _Shared([] if file.tree is None else [(source, file.tree)], unknown)
    return {
        status.name: status.line
        for status in _statuses(file, shared)
        if status.finding is not None and status.name is not None
    }


def _may_be_shared(node: nodes.Node) -> bool:
    """Whether another file of the module may define what a node names."""
    match node:
        case nodes.Const(name=name) | nodes.Call(receiver=nodes.Const(name=name)):
            return name.startswith("Facter::Util::") or not is_builtin(name.partition("::")[0])
        case nodes.Call(receiver=receiver):
            return receiver is None
    return False
