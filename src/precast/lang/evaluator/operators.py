"""Operators: each closure handles the common case itself and leaves the rest to `arithmetic`, `matching` and `values`."""

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
from precast.lang.values.base import compare, equals

_QUICK: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


@translates(ast.Not)
def translate_not(to: Translator, node: ast.Not) -> Code:
    operand = to.truth(node.operand)
    return lambda scope: not operand(scope)


@translates(ast.And)
def translate_and(to: Translator, node: ast.And) -> Code:
    left, right = to.truth(node.left), to.truth(node.right)
    return lambda scope: left(scope) and right(scope)


@translates(ast.Or)
def translate_or(to: Translator, node: ast.Or) -> Code:
    left, right = to.truth(node.left), to.truth(node.right)
    return lambda scope: left(scope) or right(scope)


@translates(ast.Minus)
def translate_minus(to: Translator, node: ast.Minus) -> Code:
    operand = to.code(node.operand)
    source, span = to.source, node.operand.span
    if isinstance(node.operand, ast.LiteralInteger | ast.LiteralFloat):
        return to.constant(-node.operand.value)

    def code(scope: Scope) -> Any:
        try:
            return negate(scope.compilation.at(source, span), scope.compilation.concrete(operand(scope)))
        except PrecastError as error:
            raise place(error, source, span) from None

    return code


@translates(ast.Arithmetic)
def translate_arithmetic(to: Translator, node: ast.Arithmetic) -> Code:
    left, right, op = to.code(node.left), to.code(node.right), node.op
    source, span = to.source, node.span
    quick = _QUICK.get(op)

    def slow(scope: Scope, left_value: Any, right_value: Any) -> Any:
        compilation = scope.compilation.at(source, span)
        try:
            if isinstance(left_value, tuple | dict):  # a collection accepts unknown values as they are
                return calculate(
                    compilation, op, left_value, compilation.concrete_top(right_value) if op == "+" else right_value
                )
            return calculate(compilation, op, compilation.concrete(left_value), compilation.concrete(right_value))
        except PrecastError as error:
            raise place(error, source, span) from None

    if quick is None:
        return lambda scope: slow(scope, left(scope), right(scope))

    def code(scope: Scope) -> Any:
        left_value, right_value = left(scope), right(scope)
        if type(left_value) is int and type(right_value) is int:
            result = quick(left_value, right_value)
            if INTEGER_MIN <= result <= INTEGER_MAX:
                return result
        return slow(scope, left_value, right_value)

    return code


@translates(ast.Comparison)
def translate_comparison(to: Translator, node: ast.Comparison) -> Code:
    if node.op in ("==", "!="):
        return _equality(to, node)
    left, right, op = to.code(node.left), to.code(node.right), node.op
    source, span, test = to.source, node.span, _ORDER[node.op]
    concrete = to.concrete_for(node)

    def code(scope: Scope) -> Any:
        left_value, right_value = left(scope), right(scope)
        if type(left_value) is int and type(right_value) is int:
            return test(left_value, right_value)
        if isinstance(left_value, Type):
            return isinstance(right_value, Type) and _types_ordered(op, left_value, right_value)
        left_value, right_value = concrete(scope, left_value), concrete(scope, right_value)
        try:
            return test(compare(left_value, right_value, op), 0)
        except PrecastError as error:
            raise place(error, source, span) from None

    return code


def _types_ordered(op: str, left: Type, right: Type) -> bool:
    """A type is less than another type that accepts it."""
    if op in (">", ">="):
        left, right = right, left
    return right.accepts(left) and (len(op) == 2 or left != right)


def _equality(to: Translator, node: ast.Comparison) -> Code:
    left, right = to.code(node.left), to.code(node.right)
    must_equal = node.op == "=="
    concrete = to.concrete_for(node)

    def code(scope: Scope) -> Any:
        left_value, right_value = left(scope), right(scope)
        if type(left_value) is str and left_value == right_value:
            return must_equal
        if scope.compilation.has_unknowns:
            left_value, right_value = concrete(scope, left_value), concrete(scope, right_value)
        return equals(left_value, right_value) is must_equal

    return code


@translates(ast.Match)
def translate_match(to: Translator, node: ast.Match) -> Code:
    left, right = to.code(node.left), to.code(node.right)
    source, span, must_match = to.source, node.span, node.op == "=~"
    concrete = to.concrete_for(node)

    def code(scope: Scope) -> Any:
        left_value, right_value = left(scope), concrete(scope, right(scope))
        try:
            return matches(scope, left_value, right_value) is must_match
        except PrecastError as error:
            raise place(error, source, span) from None

    return code


@translates(ast.In)
def translate_in(to: Translator, node: ast.In) -> Code:
    left, right = to.code(node.left), to.code(node.right)
    source, span = to.source, node.span
    concrete = to.concrete_for(node)

    def code(scope: Scope) -> Any:
        left_value, right_value = concrete(scope, left(scope)), concrete(scope, right(scope))
        try:
            return is_in(scope, left_value, right_value)
        except PrecastError as error:
            raise place(error, source, span) from None

    return code
