"""Translated classes, defines and node blocks, and the unit that holds those of one source file.

A unit is made once per file content and shared by all compiles of the process, so it holds no state of any compile.
"""

import re
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang.evaluator import load_translations
from precast.lang.evaluator.lambdas import ParameterCode, UserFunction, has_no_variable
from precast.lang.evaluator.translation import Code, Translator
from precast.lang.issues import compiler as issues
from precast.lang.syntax import ast

load_translations()


class Definition:
    """A class or define: parameters, body, and for a class the one it inherits."""

    __slots__ = ("body", "is_class", "module_name", "name", "names", "parameters", "parent", "source", "span")

    def __init__(self, to: Translator, node: ast.HostClassDefinition | ast.ResourceTypeDefinition, module: str) -> None:
        self.name = node.name
        self.is_class = isinstance(node, ast.HostClassDefinition)
        self.parent = (
            node.parent.removeprefix("::") if isinstance(node, ast.HostClassDefinition) and node.parent else None
        )
        self.parameters = tuple(ParameterCode(to, parameter) for parameter in node.parameters)
        self.names = frozenset(parameter.name for parameter in self.parameters)
        self.body = to.code(node.body)
        self.source: Source = to.source
        self.span: Span = node.span
        self.module_name = module


class NodeBlock:
    """A node block. Each of `matchers` is a name, a regular expression between slashes, or `default`, as the question needs them."""

    __slots__ = ("body", "matchers", "source", "span", "title")

    def __init__(self, to: Translator, node: ast.NodeDefinition) -> None:
        self.matchers = tuple(_matcher(match) for match in node.matches)
        self.body = to.code(node.body)
        self.source: Source = to.source
        self.span: Span = node.span


def _matcher(match: ast.Node) -> str:
    if isinstance(match, ast.LiteralRegexp):
        return f"/{match.pattern}/"
    if isinstance(match, ast.LiteralDefault):
        return "default"
    value: Any = getattr(match, "value", "")
    return str(value).lower()


def node_title(matcher: str) -> str:
    """The title of a node block's resource: its name, or for a regular expression the letters that remain as a word."""
    if not matcher.startswith("/"):
        return matcher
    word = re.sub(r"[^-\w:.]", "", matcher[1:-1].lower())
    return f"__node_regexp__{re.sub(r'^[.]+', '', word)}"


class SourceUnit:
    """The definitions of one source file, and its top-level code."""

    __slots__ = ("aliases", "classes", "defines", "functions", "main", "nodes", "program", "source", "warnings")

    def __init__(self, program: ast.Program, module_name: str = "", warnings: tuple[PrecastError, ...] = ()) -> None:
        to = Translator(program.source)
        self.source = program.source
        self.program = program
        self.warnings = warnings
        self.classes: dict[str, Definition] = {}
        self.defines: dict[str, Definition] = {}
        self.nodes: list[NodeBlock] = []
        self.functions: dict[str, UserFunction] = {}
        self.aliases: dict[str, tuple[ast.TypeAliasDefinition, Code]] = {}
        for node in program.definitions:
            self._refuse_second(to, node)
            self._define(to, node, module_name)
        self.main = to.code(program.body)

    def _refuse_second(self, to: Translator, node: ast.Definition) -> None:
        """Refuse a second definition of a name in one file; the loader refuses one in another file."""
        name = getattr(node, "name", None)
        known: list[tuple[type[ast.Definition], str, Any]] = [
            (ast.HostClassDefinition, "Class", self.classes),
            (ast.ResourceTypeDefinition, "Definition", self.defines),
            (ast.FunctionDefinition, "Function", self.functions),
        ]
        for kind, what, names in known:
            if isinstance(node, kind) and name in names:
                earlier = to.source.position(names[name].span.start).line
                to.fail(issues.REDEFINED, node, what=what, name=name, where=f"{to.source.path or 'code'}:{earlier}")
        if isinstance(node, ast.TypeAliasDefinition) and node.name.lower() in self.aliases:
            earlier = to.source.position(self.aliases[node.name.lower()][0].span.start).line
            to.fail(issues.REDEFINED, node, what="Type", name=node.name, where=f"{to.source.path or 'code'}:{earlier}")

    def _define(self, to: Translator, node: ast.Definition, module_name: str) -> None:
        if isinstance(node, ast.HostClassDefinition):
            self.classes[node.name] = Definition(to, node, module_name)
        elif isinstance(node, ast.ResourceTypeDefinition):
            self.defines[node.name] = Definition(to, node, module_name)
        elif isinstance(node, ast.NodeDefinition):
            self.nodes.append(NodeBlock(to, node))
        elif isinstance(node, ast.FunctionDefinition):
            self.functions[node.name] = UserFunction(to, node)
        elif isinstance(node, ast.TypeAliasDefinition):
            if not has_no_variable(node.type_expr):
                to.fail(issues.ALIAS_NOT_STATIC, node.type_expr, name=node.name)
            self.aliases[node.name.lower()] = (node, to.code(node.type_expr))
