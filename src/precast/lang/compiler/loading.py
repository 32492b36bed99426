"""Finds the code of classes, defines, functions and types by their names, as Puppet's autoloader does.

`a::b::c` may stand in `b/c.pp`, `b.pp` or `init.pp` of module a's manifests. Each file tried is a question of the trace, also where
its translation is in the process's cache: a warm process asks what a fresh one asks.
"""

from collections.abc import Callable
from typing import TypeVar

from precast.base.spans import Source
from precast.lang import datatypes
from precast.lang.compiler.definitions import Definition, NodeBlock, SourceUnit, node_title
from precast.lang.evaluator.lambdas import UserFunction
from precast.lang.evaluator.translation import Code
from precast.lang.inputs import ABSENT, Inputs, ModuleFile, ModulePlace
from precast.lang.issues import compiler as issues
from precast.lang.settings import Settings
from precast.lang.syntax import ast
from precast.lang.syntax.checker import check, namespace_of
from precast.lang.syntax.parser import parse

FoundT = TypeVar("FoundT")

# Translated files by path and digest. Bounded: an environment has a few thousand files, and a worker serves one version of it.
_units: dict[tuple[str, str, str], SourceUnit] = {}
_UNITS_KEPT = 20_000


def translated(path: str, digest: str, text: str, module_name: str) -> SourceUnit:
    """The unit of a file, made once for its content."""
    key = (path, digest, module_name)
    unit = _units.get(key)
    if unit is None:
        if len(_units) >= _UNITS_KEPT:
            _units.clear()
        program = parse(Source(path, text))
        findings = check(program, namespace_of(path, module_name) if module_name else None)
        if findings.errors:
            raise findings.errors[0]
        unit = _units[key] = SourceUnit(program, module_name, findings.warnings)
    return unit


class Loader:
    """What one compile has found so far."""

    def __init__(self, inputs: Inputs, settings: Settings, log: Callable[[str, str], None]) -> None:
        self._inputs = inputs
        self._log = log
        self._settings = settings
        self._loaded: set[str] = set()
        self.classes: dict[str, Definition] = {}
        self.defines: dict[str, Definition] = {}
        self.functions: dict[str, UserFunction] = {}
        self.aliases: dict[str, tuple[ast.TypeAliasDefinition, Code]] = {}
        self.nodes: list[NodeBlock] = []

    def add(self, unit: SourceUnit) -> None:
        """Makes the definitions of a unit known, and logs what is doubtful in it. Raises where one is there already."""
        self._warn(unit)
        for name, definition in unit.classes.items():
            self._add_class(name, definition)
        for name, definition in unit.defines.items():
            earlier = self.classes.get(name) or self.defines.get(name)
            if earlier is not None and earlier is not definition:
                raise issues.REDEFINED.error(
                    definition.source, definition.span, what="Definition", name=name, where=where(earlier)
                )
            self.defines[name] = definition
        for name, function in unit.functions.items():
            self.functions.setdefault(name, function)
        for name, alias in unit.aliases.items():
            if datatypes.core(alias[0].name) is not None:
                raise issues.CORE_TYPE_REDEFINED.error(unit.source, alias[0].span, name=alias[0].name)
            self.aliases.setdefault(name, alias)
        for node in unit.nodes:
            self._add_node(node)

    def _warn(self, unit: SourceUnit) -> None:
        for suspicion in unit.program.warnings:
            self._log("warning", suspicion.message)
        for finding in unit.warnings:
            if self._settings.strict == "error":
                raise finding
            if self._settings.strict == "warning":
                self._log("warning", finding.message)

    def _add_class(self, name: str, definition: Definition) -> None:
        earlier = self.classes.get(name)
        if earlier is None:
            if name in self.defines:
                where_from = where(self.defines[name])
                raise issues.REDEFINED.error(
                    definition.source, definition.span, what="Class", name=name, where=where_from
                )
            self.classes[name] = definition
        elif earlier is not definition and earlier.source is not definition.source:
            raise issues.REDEFINED.error(
                definition.source, definition.span, what="Class", name=name, where=where(earlier)
            )

    def _add_node(self, node: NodeBlock) -> None:
        known = {node_title(matcher) for each in self.nodes for matcher in each.matchers}
        for matcher in node.matchers:
            if node_title(matcher) in known:
                raise issues.NODE_REDEFINED.error(node.source, node.span, name=matcher)
        self.nodes.append(node)

    def module_directory(self, name: str) -> str | None:
        """Where a module stands, None if there is none of that name."""
        found = self._inputs.ask(ModulePlace(name, self._settings.module_path))
        return None if found is ABSENT else found

    def module_file(self, path: str) -> str | None:
        """The first file of this path inside any module: what brings a type or a function that has no module in its name."""
        found = self._inputs.ask(ModuleFile(path, self._settings.module_path))
        return None if found is ABSENT else found

    def class_named(self, name: str) -> Definition | None:
        return self._found(self.classes, name)

    def define_named(self, name: str) -> Definition | None:
        return self._found(self.defines, name)

    def function_named(self, name: str) -> UserFunction | None:
        found = self.functions.get(name)
        if found is None and "::" in name:
            self._load_one(name, "functions")
            found = self.functions.get(name)
        return found

    def ruby_function(self, name: str) -> str | None:
        """The file in which a module of the path defines a function in Ruby; of `a::b` only module a can."""
        module, _, rest = name.partition("::")
        if rest:
            found = self.module_file(f"lib/puppet/functions/{name.replace('::', '/')}.rb")
            return found if found is not None and found.startswith(f"{self.module_directory(module)}/") else None
        newer = self.module_file(f"lib/puppet/functions/{name}.rb")
        return newer or self.module_file(f"lib/puppet/parser/functions/{name}.rb")

    def alias_named(self, name: str) -> tuple[ast.TypeAliasDefinition, Code] | None:
        """A type alias by its name in lower case."""
        found = self.aliases.get(name)
        if found is None and "::" in name:
            self._load_one(name, "types")
            found = self.aliases.get(name)
        return found

    def _found(self, known: dict[str, FoundT], name: str) -> FoundT | None:
        """What a name stands for, after looking into the files where it may stand, the most likely first."""
        found = known.get(name)
        if found is not None:
            return found
        module, *rest = name.split("::")
        directory = self.module_directory(module)
        if directory is not None:
            for depth in range(len(rest), -1, -1):
                inner = "/".join(rest[:depth]) or "init"
                self._load(f"{directory}/manifests/{inner}.pp", module)
                if name in known:
                    return known[name]
        return None

    def _load_one(self, name: str, folder: str) -> None:
        module, _, rest = name.partition("::")
        directory = "" if module == "environment" else self.module_directory(module)
        if directory is None:
            return
        place = f"{directory}/{folder}" if directory else folder  # a module directory outside begins with a slash
        path = f"{place}/{rest.replace('::', '/')}.pp"
        unit = self._load(path, module)
        if unit is not None:
            _check_one(unit, name, "type" if folder == "types" else "function", path)

    def _load(self, path: str, module_name: str) -> SourceUnit | None:
        """What a file defines, if this is the first time that it is looked for and it is there."""
        if path in self._loaded:
            return None
        self._loaded.add(path)
        found = self._inputs.text(path)
        if found is None:
            return None
        unit = translated(path, found[0], found[1], module_name)
        self.add(unit)
        return unit


def _check_one(unit: SourceUnit, name: str, what: str, path: str) -> None:
    """A file of a type or function defines that one and nothing else. Raises LANG-764 where it does not."""
    defined = list(unit.aliases if what == "type" else unit.functions)
    problem = ""
    if not unit.program.definitions:
        problem = f"does not define the {what} '{name}' - it is empty"
    elif not defined:
        problem = f"does not define the {what} '{name}' - no {what} found"
    elif name not in defined:
        problem = f"produced a {what} with the wrong name, expected '{name}', actual '{defined[0]}'"
    elif len(unit.program.definitions) > 1:
        problem = f"must contain only the {what} '{name}' - it has additional definitions"
    if problem:
        raise issues.WRONG_DEFINITION.error(path=path, problem=problem)


def where(definition: Definition) -> str:
    line = definition.source.position(definition.span.start).line
    return f"{definition.source.path or 'code'}:{line}"
