"""Finds what in the Ruby file of a function the subset cannot run, before anything is compiled.

The file is parsed and run at its top level, and its tree is searched for constants, methods and functions that the subset does not have.
Code that a check like this cannot see, such as `send` with a computed name, is found when it runs.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions.ruby.code import read_code
from precast.lang.functions.ruby.files import run_file
from precast.lang.functions.ruby.selection import RubyFile, native_for
from precast.lang.issues import functions as function_issues
from precast.lang.ruby.declarations.file_lexer import lex_file
from precast.lang.ruby.methods.constants import VALUES, is_builtin
from precast.lang.ruby.methods.dispatch import GLOBALS, METHODS
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.parser import parse_tokens

# Functions without a receiver that exist only to be refused.
_REFUSED: Final = frozenset(
    (
        "srand",
        "rand",
        "sleep",
        "system",
        "exec",
        "fork",
        "spawn",
        "exit",
        "abort",
        "gets",
        "open",
        "eval",
        "binding",
        "`",
    )
)
_OF_FRAME: Final = frozenset(("block_given?", "__method__", "binding", "proc", "lambda", "self", "raise"))


class Finding(NamedTuple):
    """What cannot run, and where."""

    path: str
    line: int
    reason: str


Skips = Callable[[nodes.Node], bool]


class Vocabulary(NamedTuple):
    """What code of a kind may use besides all other code: methods of built-in classes, and functions without a receiver."""

    class_methods: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    functions: Mapping[str, Any] = MappingProxyType({})


_OF_FUNCTIONS: Final = Vocabulary()


class FunctionStatus(NamedTuple):
    """How a function of a module runs: by an implementation of ours, by the subset, or not."""

    name: str
    path: str
    how: str  # twin, ruby or no
    findings: tuple[Finding, ...] = ()


# Returns the digest and the text of a file of the environment, None if it does not exist.
ReadFile = Callable[[str], tuple[str, str] | None]
# Returns the path of the first file of this name in any module, None if no module has it.
FindFile = Callable[[str], str | None]


class CheckHost:
    """The compile of a check: it has the files of modules, and nothing else that code could use while it is loaded."""

    has_unknowns = False
    top = None

    def __init__(self, read: ReadFile, find: FindFile) -> None:
        self.text, self.module_file = read, find
        self.inputs = self.loader = self

    def shown_path(self, path: str) -> str:
        return path if path.startswith("/") else f"/{path}"

    def environment_path(self, path: str) -> str:
        return path if self.text(path) is not None else path.removeprefix("/")

    def log(self, level: str, message: Any) -> None:
        """Do nothing: the check reports what cannot run, not what code says while it is loaded."""

    def __getattr__(self, name: str) -> Any:
        raise function_issues.IMPURE.error(name=f"a file that uses the compile ({name}) while it is loaded")


def check_function(
    file: RubyFile,
    *,
    read: ReadFile = lambda path: None,
    find: FindFile = lambda name: None,
    ignores_ours: bool = False,
) -> FunctionStatus:
    """Return how a function runs, with everything found that cannot; with `ignores_ours` as if we had no implementation of it."""
    if not ignores_ours and native_for(file) is not None:
        return FunctionStatus(file.name, file.path, "twin")
    try:
        ran = run_file(CheckHost(read, find), read_code(file.path, file.digest, file.text), None)
    except PrecastError as error:
        return FunctionStatus(file.name, file.path, "no", (finding(file.path, error),))
    if file.name not in {name.lower() for name in ran.functions}:
        return FunctionStatus(file.name, file.path, "no", (Finding(file.path, 1, "the file does not define it"),))
    sources = (Source(file.path, file.text), *ran.execution.required.values())
    findings = tuple(find_unknown(*sources))
    return FunctionStatus(file.name, file.path, "no" if findings else "ruby", findings)


def finding(path: str, error: PrecastError) -> Finding:
    if error.source is None or error.span is None:
        return Finding(path, 1, error.message)
    return Finding(error.source.path, error.source.position(error.span.start).line, error.message)


def find_unknown(*sources: Source, skips: Skips = lambda node: False) -> Iterator[Finding]:
    """Yield each constant, method and function in these files that neither they nor the subset have, but for code that does not run here.

    Raises for syntax errors.
    """
    for source, node, reason in find_unknown_nodes(*sources, skips=skips):
        yield Finding(source.path, source.position(node.span.start).line, reason)


def find_unknown_nodes(
    *sources: Source, vocabulary: Vocabulary = _OF_FUNCTIONS, skips: Skips = lambda node: False
) -> Iterator[tuple[Source, nodes.Node, str]]:
    """Yield what `find_unknown` finds with the nodes. Raises for syntax errors."""
    trees = [(source, parse_tokens(source, lex_file(source)[:-1])) for source in sources]
    located = [(source, node) for source, tree in trees for node in walk(tree, skips)]
    everything = [node for _, tree in trees for node in walk(tree)]
    own_names = {node.name for node in everything if isinstance(node, nodes.MethodDefinition)} | _attributes(everything)
    own_constants = set(_own_constants(everything))
    known_methods = {name for table in METHODS.values() for name in table} | own_names
    for source, node in located:
        reason = "" if _is_in(vocabulary, node) else _reason(node, own_names, own_constants, known_methods)
        if reason:
            yield source, node, reason


def _is_in(vocabulary: Vocabulary, node: nodes.Node) -> bool:
    """Whether a vocabulary has what a node names."""
    match node:
        case nodes.Const(name=name):
            return name in vocabulary.class_methods
        case nodes.Call(receiver=nodes.Const(name=name), name=called):
            return called in vocabulary.class_methods.get(name, {})
        case nodes.Call(receiver=None, name=called):
            return called in vocabulary.functions
    return False


def _reason(node: nodes.Node, own_names: set[str], own_constants: set[str], known_methods: set[str]) -> str:
    match node:
        case nodes.Const(name=name):
            known = (
                name.partition("::")[0] in own_constants or name in own_constants or name in VALUES or is_builtin(name)
            )
            return "" if known or _is_nested(name) else f"the constant {name}"
        case nodes.Call(receiver=nodes.Const(name=name), name=called) if is_builtin(name) and name not in own_constants:
            has = called in METHODS.get(f"{name}.", {}) or called in METHODS["Class"] or called in METHODS["Object"]
            return "" if has or called in own_names else f"{name}.{called}"
        case nodes.Call(receiver=None, name=called) if called in _REFUSED and called not in own_names:
            return f"the function {called}"
        case nodes.Call(name=called, receiver=receiver) if called != "&@":
            bare = called.removesuffix("!") if called.endswith("!") else called
            is_known = called in known_methods or bare in known_methods or called.startswith("function_")
            if is_known or (receiver is None and (called in GLOBALS or called in _OF_FRAME)) or called.endswith("="):
                return ""
            return f"the method {called}"
    return ""


def _is_nested(name: str) -> bool:
    """Return whether a name may be the last part of a known module, as `Functions` inside of `module Puppet::Parser` is."""
    return any(is_builtin(f"{module}::{name}") for module in ("Puppet", "Puppet::Parser", "Puppet::Pops::Types"))


def _own_constants(everything: list[nodes.Node]) -> Iterator[str]:
    for node in everything:
        if isinstance(node, nodes.ClassDefinition) and node.name:
            yield node.name
            yield node.name.rpartition("::")[2]
            yield node.name.partition("::")[0]
        elif isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Const):
            yield node.target.name


def _attributes(everything: list[nodes.Node]) -> set[str]:
    """Return the names that `attr_reader`, `Struct.new`, `alias_method` and the like define."""
    makers = (
        "attr_reader",
        "attr_accessor",
        "attr_writer",
        "alias_method",
        "define_method",
        "new",
        "newparam",
        "newproperty",
    )
    names = {
        (node.name, str(getattr(arg.value, "name", arg.value)))
        for node in everything
        if isinstance(node, nodes.Call) and node.name in makers
        for arg in node.args
        if isinstance(arg, nodes.Literal)
    }
    # An attribute that is a Boolean has a method with `?`.
    return {name for _, name in names} | {f"{name}?" for maker, name in names if maker.startswith("newp")}


def walk(value: Any, skips: Skips = lambda node: False) -> Iterator[nodes.Node]:
    """Yield every node of a tree but those that are skipped, with all in them."""
    if isinstance(value, nodes.Node):
        if skips(value):
            return
        yield value
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            if field != "span":
                yield from walk(getattr(value, field), skips)
    elif isinstance(value, tuple):
        for item in value:
            yield from walk(item, skips)
