"""The walk over the tree: one dispatch on the kind of node; findings are collected in the order of the walk."""

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from precast.base.errors import Issue, PrecastError
from precast.base.spans import Source
from precast.lang.issues import checks as issues
from precast.lang.syntax import ast
from precast.lang.syntax.checker.effects import advice, has_no_effect
from precast.lang.syntax.checker.labels import a_label, label

# A file's list of errors is cut here: a longer one does not help.
LIMIT: Final = 20

CHECKS: "dict[type[ast.Node], Callable[[Checker, ast.Node], None]]" = {}
DEFINITIONS: "dict[type[ast.Node], Callable[[Checker, ast.Node], None]]" = {}


# Where statements are: at the top of a file, in a class, or anywhere else.
Place = Literal["top", "class", "inside"]


class Findings(NamedTuple):
    """The findings about a program. A program with errors is not evaluated; warnings are logged."""

    errors: tuple[PrecastError, ...]
    warnings: tuple[PrecastError, ...]


class Checker:
    """Collects findings about one source."""

    def __init__(self, source: Source, is_strict: bool) -> None:
        self.source = source
        self.is_strict = is_strict
        self.errors: list[PrecastError] = []
        self.warnings: list[PrecastError] = []

    def report(self, issue: Issue, node: ast.Node, **values: object) -> None:
        if len(self.errors) < LIMIT:
            self.errors.append(issue.error(self.source, node.span, **values))

    def add(self, error: PrecastError, node: ast.Node) -> None:
        """Add an error that other code found in this node."""
        error.source, error.span = self.source, node.span
        if len(self.errors) < LIMIT:
            self.errors.append(error)

    def warn(self, issue: Issue, node: ast.Node, **values: object) -> None:
        """Report a warning, or with `is_strict` an error as in Puppet 8."""
        if self.is_strict:
            self.report(issue, node, **values)
        elif len(self.warnings) < LIMIT:
            self.warnings.append(issue.error(self.source, node.span, **values))

    def visit(self, node: ast.Node) -> None:
        check = CHECKS.get(type(node))
        if check is not None:
            check(self, node)

    def visit_all(self, nodes: Iterable[ast.Node]) -> None:
        for node in nodes:
            check = CHECKS.get(type(node))
            if check is not None:
                check(self, node)

    def check_value(self, node: ast.Node) -> None:
        """Visit a node in a place where a value is needed."""
        if type(node) in _NO_VALUE:
            self.report(issues.NOT_A_VALUE, node, what=a_label(node, "A"))
        self.visit(node)

    def check_values(self, nodes: Iterable[ast.Node]) -> None:
        for node in nodes:
            self.check_value(node)

    def check_statements(
        self, statements: tuple[ast.Node, ...], owner: ast.Node | None = None, place: Place = "inside"
    ) -> None:
        """Visit statements. Those that only produce a value are reported, the last one only if its owner has no value."""
        for index, node in enumerate(statements):
            is_last = index == len(statements) - 1
            if is_last and owner is None:
                break
            if has_no_effect(node) and not _is_untitled(node):
                following = None if is_last else statements[index + 1]
                hint = advice(node, following)
                if is_last and owner is not None:
                    self.report(issues.NO_EFFECT_AT_END, node, what=label(node), owner=a_label(owner, "A"), advice=hint)
                else:
                    self.report(issues.NO_EFFECT, node, what=label(node), advice=hint)
        for node in statements:
            define = DEFINITIONS.get(type(node)) if place != "inside" else None
            if define is None:
                self.visit(node)
                continue
            if place == "class" and type(node) in _TOP_ONLY:
                self.report(issues.NOT_ABSOLUTE_TOP_LEVEL, node, what=a_label(node, "A"))
            define(self, node)


_TOP_ONLY: Final = frozenset((ast.FunctionDefinition, ast.TypeAliasDefinition, ast.TypeMapping, ast.TypeDefinition))
_NO_VALUE: Final = frozenset(
    (
        ast.HostClassDefinition, ast.ResourceTypeDefinition, ast.NodeDefinition, ast.FunctionDefinition,
        ast.TypeAliasDefinition, ast.TypeDefinition, ast.TypeMapping, ast.Collector,
    )
)  # fmt: skip


def _is_untitled(node: ast.Node) -> bool:
    """Whether a statement is a resource without a title, which the parser leaves as a block."""
    return isinstance(node, ast.Block)
