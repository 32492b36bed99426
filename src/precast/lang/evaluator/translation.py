"""From node to closure: one table by node type, filled by the modules of this package.

A closure takes the scope it runs in and gives the value of its node. It is made once per source and used by every compile, so it
holds no state of a compile; it reaches that through `scope.compilation`. Errors of values and functions come without a place; the
closure of the smallest expression around them adds its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from precast.base.errors import Issue, PrecastError
from precast.base.spans import Source, Span
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Scope
from precast.lang.syntax import ast
from precast.lang.values.unknowns import DeferredCall, Future

Code = Callable[[Scope], Any]
NodeT = TypeVar("NodeT", bound=ast.Node)
Translation = Callable[["Translator", NodeT], Code]

_translations: dict[type[ast.Node], Callable[["Translator", Any], Code]] = {}


def translates(*kinds: type[NodeT]) -> Callable[[Translation[NodeT]], Translation[NodeT]]:
    """Register the translation of one or several kinds of nodes."""

    def register(translation: Translation[NodeT]) -> Translation[NodeT]:
        for kind in kinds:
            _translations[kind] = translation
        return translation

    return register


class Translator:
    """Translates the nodes of one source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._constants: dict[Code, Any] = {}

    def code(self, node: ast.Node) -> Code:
        return _translations[type(node)](self, node)

    def codes(self, nodes: Sequence[ast.Node]) -> tuple[Code, ...]:
        return tuple(map(self.code, nodes))

    def constant(self, value: Any) -> Code:
        """Code for a value that is the same in every compile; enclosing expressions may fold it."""

        def code(scope: Scope) -> Any:
            return value

        self._constants[code] = value
        return code

    def constant_of(self, code: Code) -> Any:
        """The value of constant code; MISSING for any other code."""
        return self._constants.get(code, MISSING)

    def concrete_for(self, node: ast.Node) -> Callable[[Scope, Any], Any]:
        """A function that makes the value of a node concrete; a future there is an error at that node."""
        source, span = self.source, node.span

        def concrete(scope: Scope, value: Any) -> Any:
            if type(value) is str or not scope.compilation.has_unknowns:
                return value
            try:
                return scope.compilation.concrete(value)
            except PrecastError as error:
                raise place(error, source, span) from None

        return concrete

    def truth(self, node: ast.Node) -> Code:
        """Code that tells whether a node is true: everything but undef and false. A hole is a string, so true; a future is an error."""
        code, source, span = self.code(node), self.source, node.span

        def test(scope: Scope) -> bool:
            value = code(scope)
            if value is True:
                return True
            if value is None or value is False:
                return False
            if isinstance(value, Future | DeferredCall):
                raise issues.NOT_KNOWN_YET.error(source, span, value=str(value))
            return True

        return test

    def fail(self, issue: Issue, node: ast.Node, **fields: object) -> NoReturn:
        raise issue.error(self.source, node.span, **fields)


def place(error: PrecastError, source: Source, span: Span) -> PrecastError:
    """Set the place of an error that has none yet."""
    if error.span is None:
        error.source, error.span = source, span
    return error


def unwrap(node: ast.Node) -> ast.Node:
    """The node inside any parentheses around it."""
    while isinstance(node, ast.Parenthesized):
        node = node.expression
    return node
