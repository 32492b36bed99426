"""Parsed expressions, and what can be known of one without data.

A *term* is an expression or a part of one. A term that uses no variables but the documents is *closed*: it has the same value wherever it
stands, so its results are shared by all expressions in which it occurs.
"""

from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Any, Final

from yaql.language import expressions  # type: ignore[import-untyped]

from precast.net.model.compiler import guess
from precast.services.plans.evaluation.results import ResultTree

# The variables that are documents; `$` is the data of the node, old or new.
NODE, COMMON, PARAMETERS = "node", "common", "parameters"
_KNOWN: Final = frozenset(("$", "$1", f"${NODE}", f"${COMMON}", f"${PARAMETERS}"))
_OPERATORS: Final = frozenset(
    ("and", "or", "not", "in", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "mod", "=~", "!~")
)
# These define variables of their own.
_BINDING: Final = frozenset(("let", "with", "unpack"))


class Unknown(ValueError):
    """An expression names something that nothing defines."""


class Term:
    """A term and its results."""

    __slots__ = ("expression", "is_closed", "results")

    def __init__(self, expression: Any, is_closed: bool) -> None:
        self.expression = expression
        self.is_closed = is_closed
        self.results = ResultTree()


class Terms:
    """All terms of a batch. Equal closed terms are one term."""

    def __init__(self) -> None:
        self._by_form: dict[Hashable, Term] = {}
        self._by_expression: dict[Any, Term] = {}

    def get(self, expression: Any) -> Term:
        """The term of a parsed expression or of a part of it."""
        term = self._by_expression.get(expression)
        if term is None:
            is_closed = variables_of(expression) <= _KNOWN
            form = _form_of(expression) if is_closed else expression
            term = self._by_form.get(form)
            if term is None:
                term = self._by_form[form] = Term(expression, is_closed)
            self._by_expression[expression] = term
        return term


def parts_of(expression: Any) -> Iterator[Any]:
    """An expression and everything in it."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += _children(part)


def variables_of(expression: Any) -> set[str]:
    return {part.path.value for part in parts_of(expression) if isinstance(part, expressions.GetContextValue)}


def functions_of(expression: Any) -> set[str]:
    """The names of the functions and methods that an expression calls."""
    return {part.name for part in parts_of(expression) if type(part) is expressions.Function}


def refuse_unknown(expression: Any, known: Collection[str]) -> None:
    """Raise Unknown for a function or a variable that nothing defines; `known` are the functions."""
    functions = functions_of(expression)
    for name in sorted(functions - set(known)):
        raise Unknown(f"there is no function {name}{guess(name, known)}")
    if not functions & _BINDING:
        for name in sorted(variables_of(expression) - _KNOWN):
            raise Unknown(f"there is no variable {name}{guess(name, _KNOWN)}")


def split_operands(expression: Any, replace: Callable[[Any], Any]) -> Any:
    """Replace the operands of the outermost operators of an expression."""
    if isinstance(expression, expressions.Wrap):
        expression.expr = split_operands(expression.expr, replace)
        return expression
    is_operator = isinstance(expression, expressions.BinaryOperator | expressions.UnaryOperator)
    if is_operator and expression.operator in _OPERATORS:
        expression.args = tuple(split_operands(operand, replace) for operand in expression.args)
        return expression
    return expression if isinstance(expression, expressions.Constant) else replace(expression)


def _children(part: Any) -> list[Any]:
    if isinstance(part, expressions.Function):
        return [arg for arg in part.args if isinstance(arg, expressions.Expression)]
    if isinstance(part, expressions.Wrap):
        return [part.expr]
    if isinstance(part, expressions.MappingRuleExpression):
        return [part.source, part.destination]
    return []


def _form_of(part: Any) -> Hashable:
    """What two equal expressions have in common, and no others."""
    if isinstance(part, expressions.Constant):
        return type(part).__name__, type(part.value).__name__, part.value
    if isinstance(part, expressions.Wrap):
        return "()", _form_of(part.expr)
    if isinstance(part, expressions.Function):
        return type(part).__name__, part.name, *map(_form_of, part.args)
    if isinstance(part, expressions.MappingRuleExpression):
        return "=>", _form_of(part.source), _form_of(part.destination)
    return id(part)
