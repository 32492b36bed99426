"""if, unless, case and the selector. What a match inside one of them leaves in $0 to $9 is gone after it."""

from typing import Any

from precast.lang.evaluator.matching import option_matches
from precast.lang.evaluator.translation import Code, Translator, translates, unwrap
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Scope
from precast.lang.syntax import ast
from precast.lang.values.core import to_string


@translates(ast.If)
def if_(to: Translator, node: ast.If) -> Code:
    test, then = to.truth(node.condition), to.code(node.then)
    otherwise = to.code(node.otherwise) if node.otherwise is not None else to.constant(None)

    def code(scope: Scope) -> Any:
        before = scope.matches
        result = then(scope) if test(scope) else otherwise(scope)
        scope.matches = before
        return result

    return code


@translates(ast.Unless)
def unless(to: Translator, node: ast.Unless) -> Code:
    test, then = to.truth(node.condition), to.code(node.then)
    otherwise = to.code(node.otherwise) if node.otherwise is not None else to.constant(None)

    def code(scope: Scope) -> Any:
        before = scope.matches
        result = otherwise(scope) if test(scope) else then(scope)
        scope.matches = before
        return result

    return code


class Option:
    """One value of an option, with what to run if it is taken."""

    __slots__ = ("is_splat", "then", "value")

    def __init__(self, value: Code, is_splat: bool, then: Code) -> None:
        self.value = value
        self.is_splat = is_splat
        self.then = then

    def takes(self, scope: Scope, subject: Any) -> bool:
        value = self.value(scope)
        if self.is_splat:
            return any(option_matches(scope, subject, each) for each in value)
        if scope.run.has_unknowns:
            value = scope.run.concrete(value)
        return option_matches(scope, subject, value)


def _options(to: Translator, pairs: list[tuple[ast.Node, Code]]) -> tuple[tuple[Option, ...], Code | None]:
    """The options in order, and what runs if none is taken: where it stands makes no difference."""
    default: Code | None = None
    options = []
    for node, then in pairs:
        inner = unwrap(node)
        if isinstance(inner, ast.LiteralDefault):
            default = then
        else:
            options.append(Option(to.code(inner), isinstance(inner, ast.Splat), then))
    return tuple(options), default


@translates(ast.Case)
def case(to: Translator, node: ast.Case) -> Code:
    subject, known = to.code(node.subject), to.known(node.subject)
    pairs: list[tuple[ast.Node, Code]] = []
    for option in node.options:
        then = to.code(option.body)
        pairs += [(value, then) for value in option.values]
    options, default = _options(to, pairs)

    def code(scope: Scope) -> Any:
        before = scope.matches
        value = known(scope, subject(scope))
        result = None
        for option in options:
            if option.takes(scope, value):
                result = option.then(scope)
                break
        else:
            if default is not None:
                result = default(scope)
        scope.matches = before
        return result

    return code


@translates(ast.Selector)
def selector(to: Translator, node: ast.Selector) -> Code:
    subject, known = to.code(node.subject), to.known(node.subject)
    options, default = _options(to, [(entry.matching, to.code(entry.value)) for entry in node.entries])

    def code(scope: Scope) -> Any:
        before = scope.matches
        value = known(scope, subject(scope))
        result: Any = MISSING
        for option in options:
            if option.takes(scope, value):
                result = option.then(scope)
                break
        else:
            if default is not None:
                result = default(scope)
        scope.matches = before
        if result is MISSING:
            to.fail(issues.NO_SELECTOR_MATCH, node.subject, value=to_string(value))
        return result

    return code
