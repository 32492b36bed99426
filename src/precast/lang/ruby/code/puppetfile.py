"""Reads a Puppetfile without running it: `mod`, `forge` and `moduledir` with constants, as r10k takes them.

Everything that will reach git or the file system is checked here, once: addresses, names of references, paths. What is read is safe
to hand on.
"""

import posixpath
import re
from typing import Any, Final, Literal

import msgspec

from precast.base.spans import Source, Span
from precast.lang.issues import modules as issues
from precast.lang.ruby.code.code import Code
from precast.lang.ruby.code.constants import Constants, Lambda
from precast.lang.ruby.code.methods import NotConstant, ruby_text
from precast.lang.ruby.code.outline import Statement
from precast.lang.ruby.erb.values import Pattern, Symbol
from precast.lang.ruby.syntax import nodes

Origin = Literal["git", "forge", "local"]
_NAME: Final = re.compile(r"(?:[A-Za-z0-9]+[-/])?([a-z][a-z0-9_]*)")
_ADDRESS: Final = re.compile(r"(?:https?|ssh|git|file)://[^\s]+|[\w.-]+@[\w.-]+:[^\s]+|[\w./~][^\s]*")
_REFERENCE: Final = re.compile(r"[A-Za-z0-9_][\w./+#@-]*")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")
_REFERENCES: Final = ("ref", "tag", "commit", "branch")
_OPTIONS: Final = frozenset(
    (*_REFERENCES, "git", "default_branch", "install_path", "local", "type", "source", "version", "exclude_spec")
)


class ModuleSource(msgspec.Struct, frozen=True):
    """One module as the Puppetfile wants it. `directory` is where it goes, relative to the environment, its own name included."""

    name: str
    origin: Origin
    directory: str
    # AUTHOR-NAME on a forge.
    full_name: str = ""
    # A version of the forge; empty for the newest.
    version: str = ""
    url: str = ""
    # What git is asked for, and which kind of name it is; empty for the repository's own default branch.
    reference: str = ""
    reference_kind: str = ""
    default_branch: str = ""


class Puppetfile(msgspec.Struct, frozen=True):
    """What a Puppetfile says."""

    modules: tuple[ModuleSource, ...]
    module_directory: str = "modules"
    forge: str = ""


def read_puppetfile(source: Source) -> Puppetfile:
    """The modules in their order. Raises InputError MODULE-001 to MODULE-007, or LANG-900 for a string that does not end."""
    try:
        return _Reader(Code(source)).read()
    except RecursionError:
        raise issues.NOT_STATIC.error(source, Span(0, 1), problem="it is nested too deeply") from None


class _Reader:
    def __init__(self, code: Code) -> None:
        self._code = code
        self._constants = Constants({})
        self._directory = "modules"
        self._forge = ""
        self._modules: dict[str, ModuleSource] = {}

    def read(self) -> Puppetfile:
        for statement in self._code.statements:
            self._statement(statement)
        return Puppetfile(tuple(self._modules.values()), self._directory, self._forge)

    def _fail(self, statement: Statement, problem: str) -> Exception:
        tokens = self._code.tokens
        span = Span(tokens[statement.start].span.start, tokens[max(statement.start, statement.end - 1)].span.end)
        return issues.NOT_STATIC.error(self._code.source, span, problem=problem)

    def _statement(self, statement: Statement) -> None:
        if statement.blocks:
            raise self._fail(statement, "blocks and conditions are not followed")
        first, *rest = self._code.tokens[statement.start : statement.end]
        if first.sort == "constant" and rest and rest[0].sort == "=":
            value = self._code.tree(statement.start + 2, statement.end)
            self._constants.names[str(first.value)] = None if value is None else self._value(statement, value)
            return
        tree = self._code.tree(statement.start, statement.end)
        while isinstance(tree, nodes.Sequence) and len(tree.statements) == 1:
            tree = tree.statements[0]
        if isinstance(tree, nodes.Assign) and isinstance(tree.target, nodes.Name):
            self._value(statement, tree)
        elif isinstance(tree, nodes.Call) and tree.receiver is None and tree.name in ("mod", "forge", "moduledir"):
            args = [self._value(statement, each) for each in tree.args]
            if not args or not isinstance(args[0], str | Symbol):
                raise self._fail(statement, f"{tree.name} needs a name")
            if tree.name == "mod":
                self._module(statement, args)
            elif tree.name == "forge":
                self._forge = ruby_text(args[0])
            else:
                self._directory = _path(self._code.source, self._span(statement), ruby_text(args[0]))
        else:
            raise self._fail(statement, "this is neither mod, forge nor moduledir")

    def _span(self, statement: Statement) -> Span:
        return self._code.tokens[statement.start].span

    def _value(self, statement: Statement, tree: nodes.Node) -> Any:
        try:
            return self._constants.value(tree)
        except (NotConstant, RecursionError):
            raise self._fail(statement, "a value depends on more than its text") from None

    def _module(self, statement: Statement, args: list[Any]) -> None:
        source, span = self._code.source, self._span(statement)
        full = ruby_text(args[0])
        match = _NAME.fullmatch(full)
        if match is None:
            raise issues.BAD_NAME.error(source, span, name=full)
        name = match[1]
        if name in self._modules:
            raise issues.TWICE.error(source, span, name=name)
        given = args[1] if len(args) > 1 else {}
        options = {ruby_text(key): value for key, value in given.items()} if isinstance(given, dict) else {}
        for option, value in options.items():
            if isinstance(value, list | dict | Pattern | Lambda):
                raise self._fail(statement, f":{option} is neither text nor word")
            if option not in _OPTIONS:
                raise issues.UNKNOWN_OPTION.error(source, span, name=name, option=f":{option}")
        place = self._directory
        if "install_path" in options:
            place = _path(source, span, ruby_text(options["install_path"]))
        made = ModuleSource(name, "forge", posixpath.join(place, name), full_name=full.replace("/", "-"))
        if options.get("local") is True or _is_symbol(options.get("type"), "local") or _is_symbol(given, "local"):
            self._modules[name] = msgspec.structs.replace(made, origin="local")
        elif "git" in options or _is_symbol(options.get("type"), "git"):
            self._modules[name] = self._from_git(span, made, options)
        else:
            self._modules[name] = self._from_forge(span, made, options.get("version", given))

    def _from_git(self, span: Span, made: ModuleSource, options: dict[str, Any]) -> ModuleSource:
        source = self._code.source
        url = ruby_text(options.get("git", options.get("source", "")))
        if not _ADDRESS.fullmatch(url) or url.startswith("-") or "::" in url:
            raise issues.BAD_REPOSITORY.error(source, span, name=made.name, url=url)
        chosen = [(kind, options[kind]) for kind in (*_REFERENCES, "version") if kind in options]
        if len(chosen) > 1:
            raise issues.UNKNOWN_OPTION.error(
                source, span, name=made.name, option=" with ".join(f":{kind}" for kind, _ in chosen)
            )
        kind, reference = chosen[0] if chosen else ("", "")
        if isinstance(
            reference, Symbol
        ):  # :control_branch: the environment's own branch, which a directory does not have
            raise issues.UNKNOWN_OPTION.error(source, span, name=made.name, option=f":{kind} => :{reference.name}")
        default = ruby_text(options.get("default_branch", ""))
        for each in (ruby_text(reference), default):
            if each and (not _REFERENCE.fullmatch(each) or ".." in each or each.endswith((".lock", "/", "."))):
                raise issues.BAD_REFERENCE.error(source, span, name=made.name, reference=each)
        return msgspec.structs.replace(
            made,
            origin="git",
            url=url,
            reference=ruby_text(reference),
            reference_kind="ref" if kind == "version" else kind,
            default_branch=default,
        )

    def _from_forge(self, span: Span, made: ModuleSource, given: Any) -> ModuleSource:
        if made.full_name == made.name:
            raise issues.UNKNOWN_OPTION.error(
                self._code.source, span, name=made.name, option="a module from the forge without its author"
            )
        if _is_symbol(given, "latest") or given in ({}, None):
            return made
        version = given if isinstance(given, str) else ""
        if not _VERSION.fullmatch(version):
            raise issues.UNKNOWN_OPTION.error(self._code.source, span, name=made.name, option=f"version {given!r}")
        return msgspec.structs.replace(made, version=version)


def _is_symbol(value: Any, name: str) -> bool:
    return isinstance(value, Symbol | str) and ruby_text(value) == name


def _path(source: Source, span: Span, text: str) -> str:
    """A directory inside of the environment. Raises MODULE-005."""
    plain = posixpath.normpath(text)
    if not text or text.startswith(("/", "~", "-")) or plain.split("/")[0] in ("..", ".", ".git") or "\0" in text:
        raise issues.BAD_PATH.error(source, span, path=text)
    return plain
