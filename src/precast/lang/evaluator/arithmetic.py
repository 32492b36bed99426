"""`+ - * / % << >>` and unary minus on values: numbers, numeric strings, collections, timestamps and timespans."""

import math
import re
from typing import TYPE_CHECKING, Any, Final

from precast.lang.issues import compiler as issues
from precast.lang.values import times
from precast.lang.values.base import Binary, Hash, Rich, is_number, kind_name, to_string
from precast.lang.values.uris import URI

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation

INTEGER_MIN: Final = -(2**63)
INTEGER_MAX: Final = 2**63 - 1
_TIMES = (times.Timestamp, times.Timespan)
_NUMERIC = re.compile(r"[ \t]*([-+]?)[ \t]*((0[xX][0-9A-Fa-f]+)|(0?\d+)((?:\.\d+)?(?:[eE]-?\d+)?))[ \t]*", re.ASCII)


_MAX_CHARACTERS = 1000  # Python refuses numbers of thousands of digits


def number_in(text: str) -> int | float | None:
    """The number that a string represents: decimal, 0x…, 0… for octal, or with a fraction or exponent; None if it is not numeric."""
    match = _NUMERIC.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    if match is None:
        return None
    sign, whole, hexadecimal, digits, fraction = match.groups()
    value: int | float
    if fraction:
        value = float(whole)
    elif hexadecimal:
        value = int(hexadecimal, 16)
    elif len(digits) > 1 and digits[0] == "0":
        if "8" in digits or "9" in digits:
            return None
        value = int(digits, 8)
    else:
        value = int(digits)
    return -value if sign == "-" else value


def numeric(compilation: "Compilation", value: Any) -> Any:
    """The value as a number, timestamp or timespan; a numeric string is converted with a warning."""
    if is_number(value) or isinstance(value, _TIMES):
        return value
    number = number_in(value) if isinstance(value, str) else None
    if number is None:
        raise issues.NOT_NUMERIC.error(value=shown(value))
    compilation.complain(issues.NUMERIC_COERCION, before=value, after=shown(number))
    return number


def shown(value: Any) -> str:
    """A value as messages show it."""
    return to_string(value)


def kind_with_article(value: Any) -> str:
    """`an Integer`, `a String`: the kind of a value with its article."""
    return with_article(kind_name(value))


def with_article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


def negate(compilation: "Compilation", value: Any) -> Any:
    number = numeric(compilation, value)
    if isinstance(number, times.Timespan):
        return times.Timespan(-number.ns)
    if not is_number(number):
        raise issues.NOT_APPLICABLE.error(operator="-", left=kind_with_article(number))
    return bounded(-number)


def calculate(compilation: "Compilation", operator: str, left: Any, right: Any) -> Any:
    """The result of an operator. Raises if the operands do not support it or the result exceeds Puppet's integers."""
    if isinstance(left, tuple | Hash) and operator in ("+", "-", "<<"):
        return _on_collection(operator, left, right)
    if operator == "+" and isinstance(left, Rich):
        if isinstance(left, Binary):
            if not isinstance(right, Binary):
                raise issues.BAD_OPERAND.error(reason="Can only append Binary to a Binary")
            return Binary(left.data + right.data)
        if isinstance(left, URI):
            return _joined(left, right)
    left = numeric(compilation, left)
    right = numeric(compilation, right)
    if isinstance(left, _TIMES) or isinstance(right, _TIMES):
        return times.calculate(operator, left, right)
    return _on_numbers(operator, left, right)


def _joined(left: URI, right: Any) -> URI:
    relative = URI.parse(right) if isinstance(right, str) else right
    if not isinstance(relative, URI):
        raise issues.BAD_OPERAND.error(reason="An URI can only be merged with an URI or String")
    return left.joined(relative)


def _on_numbers(operator: str, left: Any, right: Any) -> Any:
    if operator == "+":
        return bounded(left + right)
    if operator == "-":
        return bounded(left - right)
    if operator == "*":
        return bounded(left * right)
    if operator == "/":
        return _divided(left, right)
    if isinstance(left, float):
        raise issues.NOT_APPLICABLE.error(operator=operator, left="a Float")
    if operator == "%":
        if isinstance(right, float):
            raise issues.NOT_APPLICABLE_WHEN.error(operator=operator, left="an Integer", right="a Float")
        if right == 0:
            raise issues.DIVISION_BY_ZERO.error()
        return left % right
    return _shifted(operator, left, int(right))


def _divided(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        if right == 0:
            result = math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
            return bounded(result)
        return bounded(left / right)
    if right == 0:
        raise issues.DIVISION_BY_ZERO.error()
    return bounded(left // right)


def _shifted(operator: str, left: int, count: int) -> Any:
    if operator == ">>":
        count = -count
    if count >= 0:
        if count > 64 and left != 0:
            raise issues.INTEGER_OVERFLOW.error(value=f"{left} << {count}")
        return bounded(left << count)
    return left >> -count


def bounded(value: Any) -> Any:
    """The value, if it is within the range of Puppet's numbers. Raises if it is not."""
    if isinstance(value, float):
        if math.isinf(value):
            raise issues.RESULT_IS_INFINITY.error()
        return value
    if value < INTEGER_MIN or value > INTEGER_MAX:
        raise issues.INTEGER_OVERFLOW.error(value=value)
    return value


def _on_collection(operator: str, left: Any, right: Any) -> Any:
    if operator == "+":
        return _concatenated(left, right)
    if operator == "-":
        return _without(left, right)
    if not isinstance(left, tuple):
        raise issues.NOT_APPLICABLE.error(operator=operator, left=kind_with_article(left))
    return (*left, right)


def _concatenated(left: Any, right: Any) -> Any:
    if isinstance(left, tuple):
        return left + as_array(right)
    if isinstance(right, Hash):
        return left.merged(right)
    if not isinstance(right, tuple):
        raise issues.BAD_OPERAND.error(reason="Can only append Array or Hash to a Hash")
    return left.merged(Hash.of(_pairs(right)))


def _pairs(items: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Entries from an array of pairs, or from alternating keys and values."""
    if items and all(isinstance(item, tuple) for item in items):
        if any(len(item) not in (1, 2) for item in items):
            raise issues.BAD_OPERAND.error(reason="invalid number of elements for a Hash entry")
        return [(item[0], item[1] if len(item) > 1 else None) for item in items]
    if len(items) % 2:
        raise issues.BAD_OPERAND.error(reason="odd number of arguments for Hash")
    return list(zip(items[::2], items[1::2], strict=True))


def _without(left: Any, right: Any) -> Any:
    if isinstance(left, tuple):
        removed = as_array(right)
        return tuple(item for item in left if not any(same(item, other) for other in removed))
    keys = tuple(right) if isinstance(right, Hash) else right if isinstance(right, tuple) else (right,)
    return Hash.of((key, value) for key, value in left.items() if not any(same(key, other) for other in keys))


def as_array(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return value
    return tuple(value.items()) if isinstance(value, Hash) else (value,)


def same(left: Any, right: Any) -> bool:
    """Ruby's `==`: strings with case, numbers by value, values of different kinds never."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
