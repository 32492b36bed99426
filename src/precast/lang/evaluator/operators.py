"""Operators: each closure tries what is common on the spot and leaves the rest to `arithmetic`, `matching` and `values`."""

import operator
from collections.abc import Callable
from typing import Any

from precast.base.errors import PrecastError
from precast.lang.datatypes import Type
from precast.lang.evaluator.arithmetic import INTEGER_MAX, INTEGER_MIN, calculate, negate
from precast.lang.evaluator.matching import is_in, matches
from precast.lang.evaluator.translation import Code, Translator, place, translates
from precast.lang.scope import Scope
from precast.lang.syntax import ast
from precast.lang.values.core import compare, equals

_QUICK: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


@translates(ast.Not)
def negation(to: Translator, node: ast.Not) -> Code:
    operand = to.truth(node.operand)
    return lambda scope: not operand(scope)


@translates(ast.And)
def conjunction(to: Translator, node: ast.And) -> Code:
    left, right = to.truth(node.left), to.truth(node.right)
    return lambda scope: left(scope) and right(scope)


@translates(ast.Or)
def disjunction(to: Translator, node: ast.Or) -> Code:
    left, right = to.truth(node.left), to.truth(node.right)
    return lambda scope: left(scope) or right(scope)


@translates(ast.Minus)
def minus(to: Translator, node: ast.Minus) -> Code:
    operand = to.code(node.operand)
    source, span = to.source, node.operand.span
    if isinstance(node.operand, ast.LiteralInteger | ast.LiteralFloat):
        return to.constant(-node.operand.value)

    def code(scope: Scope) -> Any:
        try:
            return negate(scope.run.at(source, span), scope.run.concrete(operand(scope)))
        except PrecastError as error:
            raise place(error, source, span) from None

    return code


@translates(ast.Arithmetic)
def arithmetic(to: Translator, node: ast.Arithmetic) -> Code:
    left, right, op = to.code(node.left), to.code(node.right), node.op
    source, span = to.source, node.span
    quick = _QUICK.get(op)

    def slow(scope: Scope, one: Any, other: Any) -> Any:
        run = scope.run.at(source, span)
        try:
            if isinstance(one, tuple | dict):  # a collection takes what is not known as it is
                return calculate(run, op, one, run.concrete_top(other) if op == "+" else other)
            return calculate(run, op, run.concrete(one), run.concrete(other))
        except PrecastError as error:
            raise place(error, source, span) from None

    if quick is None:
        return lambda scope: slow(scope, left(scope), right(scope))

    def code(scope: Scope) -> Any:
        one, other = left(scope), right(scope)
        if type(one) is int and type(other) is int:
            result = quick(one, other)
            if INTEGER_MIN <= result <= INTEGER_MAX:
                return result
        return slow(scope, one, other)

    return code


@translates(ast.Comparison)
def comparison(to: Translator, node: ast.Comparison) -> Code:
    if node.op in ("==", "!="):
        return _equality(to, node)
    left, right, op = to.code(node.left), to.code(node.right), node.op
    source, span, test = to.source, node.span, _ORDER[node.op]
    known = to.known(node)

    def code(scope: Scope) -> Any:
        one, other = left(scope), right(scope)
        if type(one) is int and type(other) is int:
            return test(one, other)
        if isinstance(one, Type):
            return isinstance(other, Type) and _types_ordered(op, one, other)
        one, other = known(scope, one), known(scope, other)
        try:
            return test(compare(one, other, op), 0)
        except PrecastError as error:
            raise place(error, source, span) from None

    return code


def _types_ordered(op: str, one: Type, other: Type) -> bool:
    """A type is less than another that takes it in."""
    if op in (">", ">="):
        one, other = other, one
    return other.accepts(one) and (len(op) == 2 or one != other)


def _equality(to: Translator, node: ast.Comparison) -> Code:
    left, right = to.code(node.left), to.code(node.right)
    wanted = node.op == "=="
    known = to.known(node)

    def code(scope: Scope) -> Any:
        one, other = left(scope), right(scope)
        if type(one) is str and one == other:
            return wanted
        if scope.run.has_unknowns:
            one, other = known(scope, one), known(scope, other)
        return equals(one, other) is wanted

    return code


@translates(ast.Match)
def match(to: Translator, node: ast.Match) -> Code:
    left, right = to.code(node.left), to.code(node.right)
    source, span, wanted = to.source, node.span, node.op == "=~"
    known = to.known(node)

    def code(scope: Scope) -> Any:
        one, other = left(scope), known(scope, right(scope))
        try:
            return matches(scope, one, other) is wanted
        except PrecastError as error:
            raise place(error, source, span) from None

    return code


@translates(ast.In)
def contained(to: Translator, node: ast.In) -> Code:
    left, right = to.code(node.left), to.code(node.right)
    source, span = to.source, node.span
    known = to.known(node)

    def code(scope: Scope) -> Any:
        one, other = known(scope, left(scope)), known(scope, right(scope))
        try:
            return is_in(scope, one, other)
        except PrecastError as error:
            raise place(error, source, span) from None

    return code
