"""Translates arrows between resources: `->`, `~>`, `<-`, `<~`."""

from typing import Any

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.compiler.collecting.collectors import Collector
from precast.lang.compiler.relationships import ChainedCollector
from precast.lang.compiler.resources import flatten
from precast.lang.evaluator.arithmetic import kind_with_article
from precast.lang.evaluator.translation import Code, Translator, place, translates
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.syntax import ast


@translates(ast.Relationship)
def translate_relationship(to: Translator, node: ast.Relationship) -> Code:
    left, right = to.code(node.left), to.code(node.right)
    source, span = to.source, node.span
    kind = "notify" if "~" in node.op else "before"
    backwards = node.op.startswith("<")

    def code(scope: Scope) -> Any:
        left_value, right_value = left(scope), right(scope)
        try:
            first, second = _operands(scope, left_value), _operands(scope, right_value)
        except PrecastError as error:
            raise place(error, source, span) from None
        if backwards:
            first, second = second, first
        scope.compilation.catalog.relate(first, second, kind, source, span)
        return _arrow_value(second, first) if backwards else _arrow_value(first, second)

    return code


def _arrow_value(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """The value of an arrow: its right side; the left one if the right is empty or collects nothing, so that a chain has no gap."""
    if not right:
        return left
    if len(right) == 1 and isinstance(right[0], Collector):
        return (ChainedCollector(right[0], left),)
    return right


def _operands(scope: Scope, value: Any) -> tuple[Any, ...]:
    """The references and collectors that one side of an arrow stands for."""
    operands: list[Any] = []
    for operand in flatten(value):
        if isinstance(operand, str):
            operand = scope.compilation.catalog.reference_of(operand)
        is_reference = (isinstance(operand, datatypes.ResourceType) and operand.title is not None) or (
            isinstance(operand, datatypes.ClassType) and operand.class_name is not None
        )
        if not is_reference and not isinstance(operand, Collector | ChainedCollector):
            raise issues.NO_RELATION.error(got=_shown_operand(operand))
        operands.append(operand)
    return tuple(operands)


def _shown_operand(value: Any) -> str:
    return f"a {value}" if isinstance(value, datatypes.Type) else kind_with_article(value)
