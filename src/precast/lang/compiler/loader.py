"""Finds the code of classes, defines, functions and types by their names, as Puppet's autoloader does.

`a::b::c` may be in `b/c.pp`, `b.pp` or `init.pp` of module a's manifests. Each file tried is a question in the trace, even if its
translation is in the process's cache: a warm process asks the same questions as a fresh one.
"""

from collections.abc import Callable
from typing import TypeVar

from precast.base.spans import Source
from precast.lang import datatypes
from precast.lang.compiler.definitions import Definition, NodeBlock, SourceUnit, node_title
from precast.lang.evaluator.lambdas import UserFunction
from precast.lang.evaluator.translation import Code
from precast.lang.functions import registry
from precast.lang.inputs import ABSENT, Inputs, ModuleDirectory, ModuleFile
from precast.lang.issues import compiler as issues
from precast.lang.settings import Settings
from precast.lang.syntax import ast
from precast.lang.syntax.checker import check, namespace_of
from precast.lang.syntax.parser import parse
from precast.types import catalogue

DefinitionT = TypeVar("DefinitionT")

# Translated files by path and digest. The limit is generous: an environment has a few thousand files, and a worker serves one version.
_units: dict[tuple[str, str, str], SourceUnit] = {}
_MAX_UNITS = 20_000


def translate_file(path: str, digest: str, text: str, module_name: str) -> SourceUnit:
    """Parse, check and translate a file; done once per content. Raises the first error found."""
    key = (path, digest, module_name)
    unit = _units.get(key)
    if unit is None:
        if len(_units) >= _MAX_UNITS:
            _units.clear()
        program = parse(Source(path, text))
        findings = check(program, namespace_of(path, module_name) if module_name else None)
        if findings.errors:
            raise findings.errors[0]
        unit = _units[key] = SourceUnit(program, module_name, findings.warnings)
    return unit


class Loader:
    """The definitions that one compile has loaded so far."""

    def __init__(self, inputs: Inputs, settings: Settings, log: Callable[[str, str], None]) -> None:
        self._inputs = inputs
        self._log = log
        self._settings = settings
        self._loaded: set[str] = set()
        self.classes: dict[str, Definition] = {}
        self.defines: dict[str, Definition] = {}
        self.functions: dict[str, UserFunction] = {}
        self.hidden_functions: set[str] = set()  # built-in functions that the main manifest replaces by its own
        self.aliases: dict[str, tuple[ast.TypeAliasDefinition, Code]] = {}
        self.nodes: list[NodeBlock] = []
        self._node_titles: set[str] = set()
        self.programs: dict[str, ast.Program] = {}

    def add(self, unit: SourceUnit) -> None:
        """Add the definitions of a unit and log its warnings. Raises if a definition exists already."""
        self._warn(unit)
        self.programs[unit.source.path] = unit.program
        for declared in (*unit.classes.values(), *unit.defines.values()):
            self._check_metaparameters(declared)
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
            if "::" not in name and registry.find(name) is not None:
                self.hidden_functions.add(name)
        for name, alias in unit.aliases.items():
            if datatypes.core(alias[0].name) is not None:
                raise issues.CORE_TYPE_REDEFINED.error(unit.source, alias[0].span, name=alias[0].name)
            self.aliases.setdefault(name, alias)
        for node in unit.nodes:
            self._add_node(node)

    def mark_loaded(self, path: str) -> None:
        """Note that the definitions of a file are added already, so that it is not loaded for the name of a class."""
        self._loaded.add(path)

    def _warn(self, unit: SourceUnit) -> None:
        for suspicion in unit.program.warnings:
            self._log("warning", suspicion.message)
        for finding in unit.warnings:
            if self._settings.strict == "error":
                raise finding
            if self._settings.strict == "warning":
                self._log("warning", finding.message)

    def _check_metaparameters(self, definition: Definition) -> None:
        """Warn of a parameter with the name of a metaparameter, whose value the contents inherit. Raises LANG-792 if it has no default."""
        for parameter in definition.parameters:
            if parameter.name not in catalogue.METAPARAMETERS:
                continue
            if parameter.default is None:
                raise issues.METAPARAMETER_AS_PARAMETER.error(
                    definition.source, definition.span, name=parameter.name, definition=definition.name
                )
            self._log(
                "warning",
                f"{parameter.name} is a metaparam; this value will inherit to all contained resources in the "
                f"{definition.name} definition",
            )

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
        titles = [node_title(matcher) for matcher in node.matchers]
        for matcher, title in zip(node.matchers, titles, strict=True):
            if title in self._node_titles:
                raise issues.NODE_REDEFINED.error(node.source, node.span, name=matcher)
        self._node_titles.update(titles)
        self.nodes.append(node)

    def module_directory(self, name: str) -> str | None:
        """The directory of a module; None if there is no module with that name."""
        directory = self._inputs.ask(ModuleDirectory(name, self._settings.module_path))
        return None if directory is ABSENT else directory

    def module_file(self, path: str) -> str | None:
        """The first file with this path in any module, for a type or function whose name does not include its module."""
        file = self._inputs.ask(ModuleFile(path, self._settings.module_path))
        return None if file is ABSENT else file

    def class_named(self, name: str) -> Definition | None:
        return self._find(self.classes, name)

    def define_named(self, name: str) -> Definition | None:
        return self._find(self.defines, name)

    def function_named(self, name: str) -> UserFunction | None:
        function = self.functions.get(name)
        if function is None and "::" in name:
            self._load_definition(name, "functions")
            function = self.functions.get(name)
        return function

    def ruby_function(self, name: str) -> str | None:
        """The file in which a module on the module path defines a function in Ruby; only module a can define `a::b`."""
        module, _, rest = name.partition("::")
        if rest:
            path = self.module_file(f"lib/puppet/functions/{name.replace('::', '/')}.rb")
            return path if path is not None and path.startswith(f"{self.module_directory(module)}/") else None
        newer = self.module_file(f"lib/puppet/functions/{name}.rb")
        return newer or self.module_file(f"lib/puppet/parser/functions/{name}.rb")

    def alias_named(self, name: str) -> tuple[ast.TypeAliasDefinition, Code] | None:
        """A type alias by its name in lower case."""
        alias = self.aliases.get(name)
        if alias is None and "::" in name:
            self._load_definition(name, "types")
            alias = self.aliases.get(name)
        return alias

    def _find(self, known: dict[str, DefinitionT], name: str) -> DefinitionT | None:
        """The definition with a name, after loading the module's init.pp and the files that may contain it, the most specific first."""
        definition = known.get(name)
        if definition is not None:
            return definition
        module, *rest = name.split("::")
        directory = self.module_directory(module)
        if directory is not None:
            self._load(f"{directory}/manifests/init.pp", module)
            if name in known and not rest:
                return known[name]
            for depth in range(len(rest), -1, -1):
                inner = "/".join(rest[:depth]) or "init"
                self._load(f"{directory}/manifests/{inner}.pp", module)
                if name in known:
                    return known[name]
        return None

    def _load_definition(self, name: str, folder: str) -> None:
        module, _, rest = name.partition("::")
        directory = "" if module == "environment" else self.module_directory(module)
        if directory is None:
            return
        base = f"{directory}/{folder}" if directory else folder  # the directory of a module outside begins with a slash
        path = f"{base}/{rest.replace('::', '/')}.pp"
        unit = self._load(path, module)
        if unit is not None:
            _check_only_definition(unit, name, "type" if folder == "types" else "function", path)

    def _load(self, path: str, module_name: str) -> SourceUnit | None:
        """Load a file's definitions; None if it was tried before or does not exist."""
        if path in self._loaded:
            return None
        self._loaded.add(path)
        text = self._inputs.text(path)
        if text is None:
            return None
        unit = translate_file(path, text[0], text[1], module_name)
        self.add(unit)
        return unit


def _check_only_definition(unit: SourceUnit, name: str, what: str, path: str) -> None:
    """The file of a type or function must define exactly that. Raises LANG-764 if it does not."""
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
