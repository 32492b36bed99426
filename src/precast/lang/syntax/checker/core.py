"""The walk over the tree: one dispatch on the kind of node, findings kept in the order they are met."""

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from precast.base.errors import Issue, PrecastError
from precast.base.spans import Source
from precast.lang.issues import checks as issues
from precast.lang.syntax import ast
from precast.lang.syntax.checker.effects import advice, has_no_effect
from precast.lang.syntax.checker.labels import a_label, label

# More errors than this in one file help nobody.
LIMIT: Final = 20

CHECKS: "dict[type[ast.Node], Callable[[Checker, ast.Node], None]]" = {}
DEFINITIONS: "dict[type[ast.Node], Callable[[Checker, ast.Node], None]]" = {}


# Where statements stand: in a file, in a class, or anywhere else.
Place = Literal["top", "class", "inside"]


class Findings(NamedTuple):
    """What was found; a program with errors is not evaluated, warnings are logged."""

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
        """An error that something else has found in this node."""
        error.source, error.span = self.source, node.span
        if len(self.errors) < LIMIT:
            self.errors.append(error)

    def warn(self, issue: Issue, node: ast.Node, **values: object) -> None:
        """A warning, or an error where Puppet 8 says so."""
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

    def value(self, node: ast.Node) -> None:
        """Visits what stands where a value is needed."""
        if type(node) in _NO_VALUE:
            self.report(issues.NOT_A_VALUE, node, what=a_label(node, "A"))
        self.visit(node)

    def values(self, nodes: Iterable[ast.Node]) -> None:
        for node in nodes:
            self.value(node)

    def statements(
        self, statements: tuple[ast.Node, ...], owner: ast.Node | None = None, place: Place = "inside"
    ) -> None:
        """Visits statements; those that only produce a value are forgotten, the last one too if its owner has no value."""
        for index, node in enumerate(statements):
            is_last = index == len(statements) - 1
            if is_last and owner is None:
                break
            if has_no_effect(node) and not _is_untitled(node):
                following = None if is_last else statements[index + 1]
                said = advice(node, following)
                if is_last and owner is not None:
                    self.report(issues.NO_EFFECT_AT_END, node, what=label(node), owner=a_label(owner, "A"), advice=said)
                else:
                    self.report(issues.NO_EFFECT, node, what=label(node), advice=said)
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
    """A block among statements is what the parser makes of a resource without a title."""
    return isinstance(node, ast.Block)
