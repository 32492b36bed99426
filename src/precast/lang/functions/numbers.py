"""Functions on numbers, and max, min and compare."""

import math
import re
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function
from precast.lang.issues import functions as issues
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.stdlib.digits import integer
from precast.lang.values.base import compare, is_number, kind_name

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")

ABS = Function("abs", "Returns the absolute value of a number.")
CEILING = Function("ceiling", "Returns the smallest integer that is not less than a number.")
FLOOR = Function("floor", "Returns the largest integer that is not greater than a number.")
ROUND = Function("round", "Returns the nearest integer; a half is rounded away from zero.")
MAX = Function(
    "max", "Returns the largest value: of numbers, of strings by their characters, or by a block that compares two."
)
MIN = Function(
    "min", "Returns the smallest value: of numbers, of strings by their characters, or by a block that compares two."
)
COMPARE = Function(
    "compare",
    "Returns -1, 0 or 1 if the first value is less than, equal to or greater than the second; strings are compared without "
    "regard to case unless the third argument is false.",
)


def _warn_coerced(call: Call, function: str, kind: str, how: str = "before calling") -> None:
    call.host.warn_once(
        f"{function}-coerce-{kind}",
        f"The {function}() function's auto conversion of {kind} is deprecated - change to convert input {how}",
    )


@ABS.dispatch("Numeric val")
def _abs(value: float) -> float:
    return abs(value)


@ABS.dispatch("String val", pure=False)
def _abs_text(call: Call, value: str) -> float:
    _warn_coerced(call, "abs", "String to Numeric")
    if re.fullmatch(r"-?\d+\.\d+", value):
        return abs(require_finite(float(value)))
    if re.fullmatch(r"-?\d+", value):
        return abs(integer(value))
    raise issues.NOT_A_DECIMAL.error()


@CEILING.dispatch("Numeric val")
def _ceiling(value: float) -> int:
    return math.ceil(require_finite(value))


@CEILING.dispatch("String val", pure=False)
def _ceiling_text(call: Call, value: str) -> int:
    return math.ceil(_float(call, "ceiling", value))


@FLOOR.dispatch("Numeric val")
def _floor(value: float) -> int:
    return math.floor(require_finite(value))


@FLOOR.dispatch("String val", pure=False)
def _floor_text(call: Call, value: str) -> int:
    return math.floor(_float(call, "floor", value))


def _float(call: Call, function: str, text: str) -> float:
    _warn_coerced(call, function, "String to Float")
    if not _DECIMAL.fullmatch(text.strip()):
        raise issues.NOT_A_FLOAT.error(name=function)
    return require_finite(float(text))


def require_finite(value: float) -> float:
    """Return the value. Raises LANG-404 for infinity and NaN, which no integer is near to."""
    if not math.isfinite(value):
        raise issues.NOT_FINITE.error(value=value)
    return value


@ROUND.dispatch("Numeric val")
def _round(value: float) -> int:
    if isinstance(value, int):
        return value
    return int(require_finite(value) + math.copysign(0.5, value)) if abs(value) < 2**52 else int(require_finite(value))


def _declare_extreme(function: Function, sign: int) -> None:
    """Declare max (sign 1) or min (-1), which have the same signatures."""
    name = function.name

    def extreme(values: Any, order: Callable[[Any, Any], int]) -> Any:
        if not values:
            raise issues.NONE_TO_CHOOSE.error(name=name)
        best = values[0]
        for value in values[1:]:
            if order(value, best) * sign > 0:
                best = value
        return best

    def of_numbers(*values: float) -> Any:
        return extreme(values, _order_numbers)

    def of_strings(call: Call, *values: str) -> Any:
        return extreme(values, lambda a, b: _order_strings(call, name, a, b))

    def of_any(call: Call, *values: Any) -> Any:
        return extreme(values, lambda a, b: _order_any(call, name, a, b))

    def in_array(call: Call, values: tuple[Any, ...]) -> Any:
        return by_block(call, *values) if call.block is not None else of_any(call, *values)

    def by_block(call: Call, *values: Any) -> Any:
        return extreme(values, lambda a, b: order_from_result(call.run_block(a, b))) if values else None

    function.dispatch("Numeric *values")(of_numbers)
    function.dispatch("String *values", pure=False)(of_strings)
    function.dispatch("Array[Numeric] values, Callable[2, 2] &block?", pure=False)(in_array)
    function.dispatch("Array[String] values, Callable[2, 2] &block?", pure=False)(in_array)
    function.dispatch("Array values, Callable[2, 2] &block?", pure=False)(in_array)
    function.dispatch("Any *values, Callable[2, 2] &block")(by_block)
    function.dispatch("Any *values", pure=False)(of_any)


def _order_numbers(a: float, b: float) -> int:
    return (a > b) - (a < b)


def order_from_result(result: Any) -> int:
    """Return the result of a comparing block as -1, 0 or 1. Raises LANG-406 if it is not a number."""
    if not is_number(result):
        raise issues.NOT_AN_ORDER.error(kind=kind_name(result))
    return int(result > 0) - int(result < 0)


def _order_strings(call: Call, function: str, a: str, b: str) -> int:
    if _DECIMAL.fullmatch(a) and _DECIMAL.fullmatch(b):
        _warn_coerced(call, function, "String to Numeric", "before calling, or use lambda")
        return _order_numbers(float(a), float(b))
    return (a > b) - (a < b)


def _order_any(call: Call, function: str, a: Any, b: Any) -> int:
    if is_number(a) and is_number(b):
        return _order_numbers(a, b)
    if isinstance(a, str) and isinstance(b, str):
        return _order_strings(call, function, a, b)
    left, right = ruby_text(a), ruby_text(b)
    if _DECIMAL.fullmatch(left) and _DECIMAL.fullmatch(right):
        _warn_coerced(call, function, "String to Numeric", "before calling, or use lambda")
        return _order_numbers(float(left), float(right))
    _warn_coerced(call, function, "Any to String", "before calling, or use lambda")
    return (left > right) - (left < right)


_declare_extreme(MAX, 1)
_declare_extreme(MIN, -1)


@COMPARE.dispatch("Numeric a, Numeric b")
@COMPARE.dispatch("SemVer a, SemVer b")
@COMPARE.dispatch("Numeric a, Variant[Timespan, Timestamp] b")
@COMPARE.dispatch("Timestamp a, Variant[Timestamp, Numeric] b")
@COMPARE.dispatch("Timespan a, Variant[Timespan, Numeric] b")
def _compare(a: Any, b: Any) -> int:
    return compare(a, b)


@COMPARE.dispatch("String a, String b, Boolean ignore_case?")
def _compare_strings(a: str, b: str, ignore_case: bool = True) -> int:
    return compare(a, b) if ignore_case else (a > b) - (a < b)


@COMPARE.dispatch("Any a, Any b, Any ignore_case?")
def _compare_others(a: Any, b: Any, *ignore_case: Any) -> int:
    if ignore_case:
        raise issues.CASE_OF_NO_STRINGS.error()
    left, right = kind_name(a), kind_name(b)
    comparable = {"Integer", "Float", "String", "SemVer", "Timespan", "Timestamp"}
    issue = issues.DIFFERENT_KINDS if {left, right} <= comparable else issues.NO_ORDER
    raise issue.error(left=left, right=right)


def sorted_by(values: Any, order: Callable[[Any, Any], int]) -> list[Any]:
    """Return the values in the order of a function that compares two."""
    return sorted(values, key=cmp_to_key(order))
