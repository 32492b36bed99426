"""Reads a Puppetfile without running it: `mod`, `forge` and `moduledir` with constant arguments, as r10k takes them.

The reader checks everything that later reaches git or the file system: addresses, names of references, paths. Its callers need no
further checks.
"""

import posixpath
import re
from typing import Any, Final, Literal

import msgspec

from precast.base.repository_addresses import parse_address
from precast.base.spans import Source, Span
from precast.lang.issues import modules as issues
from precast.lang.ruby.declarations.outline import Statement
from precast.lang.ruby.declarations.ruby_file import RubyFile
from precast.lang.ruby.declarations.static_evaluation import Lambda, StaticEvaluator
from precast.lang.ruby.declarations.static_methods import NotStatic, static_text
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.values import Pattern, Symbol

Origin = Literal["git", "forge", "local"]
_NAME: Final = re.compile(r"(?:[A-Za-z0-9]+[-/])?([a-z][a-z0-9_]*)")
_REFERENCE: Final = re.compile(r"[A-Za-z0-9_][\w./+#@-]*")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")
_REFERENCES: Final = ("ref", "tag", "commit", "branch")
_OPTIONS: Final = frozenset(
    (*_REFERENCES, "git", "default_branch", "install_path", "local", "type", "source", "version", "exclude_spec")
)


class ModuleSource(msgspec.Struct, frozen=True):
    """One module that the Puppetfile asks for. `directory` is relative to the environment and ends in the module's name."""

    name: str
    origin: Origin
    directory: str
    # AUTHOR-NAME on a forge.
    full_name: str = ""
    # A version on the forge; empty for the newest.
    version: str = ""
    url: str = ""
    # The git reference and its kind; empty for the default branch of the repository.
    reference: str = ""
    reference_kind: str = ""
    default_branch: str = ""


class Puppetfile(msgspec.Struct, frozen=True):
    """The content of a Puppetfile."""

    modules: tuple[ModuleSource, ...]
    module_directory: str = "modules"
    forge: str = ""


def read_puppetfile(source: Source) -> Puppetfile:
    """Return the modules in their order. Raises InputError MODULE-001 to MODULE-007, or LANG-900 for a string that is not closed."""
    try:
        return _Reader(RubyFile(source)).read()
    except RecursionError:
        raise issues.NOT_STATIC.error(source, Span(0, 1), problem="the code is nested too deeply") from None


class _Reader:
    def __init__(self, file: RubyFile) -> None:
        self._file = file
        self._evaluator = StaticEvaluator({})
        self._directory = "modules"
        self._forge = ""
        self._modules: dict[str, ModuleSource] = {}

    def read(self) -> Puppetfile:
        for statement in self._file.statements:
            self._statement(statement)
        return Puppetfile(tuple(self._modules.values()), self._directory, self._forge)

    def _fail(self, statement: Statement, problem: str) -> Exception:
        tokens = self._file.tokens
        span = Span(tokens[statement.start].span.start, tokens[max(statement.start, statement.end - 1)].span.end)
        return issues.NOT_STATIC.error(self._file.source, span, problem=problem)

    def _statement(self, statement: Statement) -> None:
        if statement.blocks:
            raise self._fail(statement, "blocks and conditions are not supported")
        first, *rest = self._file.tokens[statement.start : statement.end]
        if first.kind == "constant" and rest and rest[0].kind == "=":
            value = self._file.tree(statement.start + 2, statement.end)
            self._evaluator.names[str(first.value)] = None if value is None else self._value(statement, value)
            return
        tree = self._file.tree(statement.start, statement.end)
        while isinstance(tree, nodes.Sequence) and len(tree.statements) == 1:
            tree = tree.statements[0]
        if isinstance(tree, nodes.Assign) and isinstance(tree.target, nodes.Name):
            self._value(statement, tree)
        elif isinstance(tree, nodes.Call) and tree.receiver is None and tree.name in ("mod", "forge", "moduledir"):
            args = [self._value(statement, arg) for arg in tree.args]
            if not args or not isinstance(args[0], str | Symbol):
                raise self._fail(statement, f"{tree.name} needs a name")
            if tree.name == "mod":
                self._module(statement, args)
            elif tree.name == "forge":
                self._forge = static_text(args[0])
            else:
                self._directory = _path(self._file.source, self._span(statement), static_text(args[0]))
        else:
            raise self._fail(statement, "the statement is not mod, forge or moduledir")

    def _span(self, statement: Statement) -> Span:
        return self._file.tokens[statement.start].span

    def _value(self, statement: Statement, tree: nodes.Node) -> Any:
        try:
            return self._evaluator.value(tree)
        except (NotStatic, RecursionError):
            raise self._fail(statement, "a value is not constant") from None

    def _module(self, statement: Statement, args: list[Any]) -> None:
        source, span = self._file.source, self._span(statement)
        full = static_text(args[0])
        match = _NAME.fullmatch(full)
        if match is None:
            raise issues.BAD_NAME.error(source, span, name=full)
        name = match[1]
        if name in self._modules:
            raise issues.TWICE.error(source, span, name=name)
        given = args[1] if len(args) > 1 else {}
        options = {static_text(key): value for key, value in given.items()} if isinstance(given, dict) else {}
        for option, value in options.items():
            if isinstance(value, list | dict | Pattern | Lambda):
                raise self._fail(statement, f":{option} must be a string, symbol, number or boolean")
            if option not in _OPTIONS:
                raise issues.UNKNOWN_OPTION.error(source, span, name=name, option=f":{option}")
        parent = self._directory
        if "install_path" in options:
            parent = _path(source, span, static_text(options["install_path"]))
        module = ModuleSource(name, "forge", posixpath.join(parent, name), full_name=full.replace("/", "-"))
        if options.get("local") is True or _is_symbol(options.get("type"), "local") or _is_symbol(given, "local"):
            self._modules[name] = msgspec.structs.replace(module, origin="local")
        elif "git" in options or _is_symbol(options.get("type"), "git"):
            self._modules[name] = self._from_git(span, module, options)
        else:
            self._modules[name] = self._from_forge(span, module, options.get("version", given))

    def _from_git(self, span: Span, module: ModuleSource, options: dict[str, Any]) -> ModuleSource:
        source = self._file.source
        url = static_text(options.get("git", options.get("source", "")))
        try:
            parse_address(url)
        except ValueError as error:
            raise issues.BAD_REPOSITORY.error(source, span, name=module.name, url=url, reason=str(error)) from None
        chosen = [(kind, options[kind]) for kind in (*_REFERENCES, "version") if kind in options]
        if len(chosen) > 1:
            raise issues.UNKNOWN_OPTION.error(
                source, span, name=module.name, option=" with ".join(f":{kind}" for kind, _ in chosen)
            )
        kind, reference = chosen[0] if chosen else ("", "")
        if isinstance(reference, Symbol):
            # :control_branch is the branch of the environment, which a directory does not have.
            raise issues.UNKNOWN_OPTION.error(source, span, name=module.name, option=f":{kind} => :{reference.name}")
        default = static_text(options.get("default_branch", ""))
        for text in (static_text(reference), default):
            if text and (not _REFERENCE.fullmatch(text) or ".." in text or text.endswith((".lock", "/", "."))):
                raise issues.BAD_REFERENCE.error(source, span, name=module.name, reference=text)
        return msgspec.structs.replace(
            module,
            origin="git",
            url=url,
            reference=static_text(reference),
            reference_kind="ref" if kind == "version" else kind,
            default_branch=default,
        )

    def _from_forge(self, span: Span, module: ModuleSource, given: Any) -> ModuleSource:
        if module.full_name == module.name:
            raise issues.UNKNOWN_OPTION.error(
                self._file.source, span, name=module.name, option="a module from the forge without its author"
            )
        if _is_symbol(given, "latest") or given in ({}, None):
            return module
        version = given if isinstance(given, str) else ""
        if not _VERSION.fullmatch(version):
            raise issues.UNKNOWN_OPTION.error(self._file.source, span, name=module.name, option=f"version {given!r}")
        return msgspec.structs.replace(module, version=version)


def _is_symbol(value: Any, name: str) -> bool:
    return isinstance(value, Symbol | str) and static_text(value) == name


def _path(source: Source, span: Span, text: str) -> str:
    """Return the normalised path of a directory inside the environment. Raises MODULE-005 for other paths."""
    plain = posixpath.normpath(text)
    if not text or text.startswith(("/", "~", "-")) or plain.split("/")[0] in ("..", ".", ".git") or "\0" in text:
        raise issues.BAD_PATH.error(source, span, path=text)
    return plain
