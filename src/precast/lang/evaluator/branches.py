"""if, unless, case and the selector. A match inside one of them does not change $0 to $9 after it."""

from typing import Any

from precast.lang.evaluator.matching import option_matches
from precast.lang.evaluator.translation import Code, Translator, translates, unwrap
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Scope
from precast.lang.syntax import ast
from precast.lang.values.base import to_string


@translates(ast.If)
def translate_if(to: Translator, node: ast.If) -> Code:
    test, then = to.truth(node.condition), to.code(node.then)
    otherwise = to.code(node.otherwise) if node.otherwise is not None else to.constant(None)

    def code(scope: Scope) -> Any:
        before = scope.matches
        result = then(scope) if test(scope) else otherwise(scope)
        scope.matches = before
        return result

    return code


@translates(ast.Unless)
def translate_unless(to: Translator, node: ast.Unless) -> Code:
    test, then = to.truth(node.condition), to.code(node.then)
    otherwise = to.code(node.otherwise) if node.otherwise is not None else to.constant(None)

    def code(scope: Scope) -> Any:
        before = scope.matches
        result = otherwise(scope) if test(scope) else then(scope)
        scope.matches = before
        return result

    return code


class Option:
    """One value of an option, and the code to run if the subject matches it."""

    __slots__ = ("is_splat", "then", "value")

    def __init__(self, value: Code, is_splat: bool, then: Code) -> None:
        self.value = value
        self.is_splat = is_splat
        self.then = then

    def matches(self, scope: Scope, subject: Any) -> bool:
        value = self.value(scope)
        if self.is_splat:
            return any(option_matches(scope, subject, item) for item in value)
        if scope.compilation.has_unknowns:
            value = scope.compilation.concrete(value)
        return option_matches(scope, subject, value)


def _options(to: Translator, pairs: list[tuple[ast.Node, Code]]) -> tuple[tuple[Option, ...], Code | None]:
    """The options in order, and the code of `default`, whose position makes no difference."""
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
def translate_case(to: Translator, node: ast.Case) -> Code:
    subject, concrete = to.code(node.subject), to.concrete_for(node.subject)
    pairs: list[tuple[ast.Node, Code]] = []
    for option in node.options:
        then = to.code(option.body)
        pairs += [(value, then) for value in option.values]
    options, default = _options(to, pairs)

    def code(scope: Scope) -> Any:
        before = scope.matches
        value = concrete(scope, subject(scope))
        result = None
        for option in options:
            if option.matches(scope, value):
                result = option.then(scope)
                break
        else:
            if default is not None:
                result = default(scope)
        scope.matches = before
        return result

    return code


@translates(ast.Selector)
def translate_selector(to: Translator, node: ast.Selector) -> Code:
    subject, concrete = to.code(node.subject), to.concrete_for(node.subject)
    options, default = _options(to, [(entry.matching, to.code(entry.value)) for entry in node.entries])

    def code(scope: Scope) -> Any:
        before = scope.matches
        value = concrete(scope, subject(scope))
        result: Any = MISSING
        for option in options:
            if option.matches(scope, value):
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
