"""Methods of Integer and Float."""

import math
from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, to_str
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import class_name

_Number = int | float


def _other(value: Any, this: _Number) -> _Number:
    if isinstance(value, bool) or not isinstance(value, int | float):
        name = "nil" if value is None else class_name(value)
        raise TypeError(f"{name} can't be coerced into {class_name(this)}")
    return value


@method("Numeric", "+")
def _add(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return this + _other(args[0], this)


@method("Numeric", "-")
def _subtract(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return this - _other(args[0], this)


@method("Numeric", "*")
def _multiply(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return this * _other(args[0], this)


@method("Numeric", "/", "div")
def _divide(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    other = _other(args[0], this)
    if isinstance(this, int) and isinstance(other, int):
        if other == 0:
            raise ZeroDivisionError("divided by 0")
        return this // other
    return this / other if other else math.copysign(math.inf, this)


@method("Numeric", "fdiv")
def _fdiv(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> float:
    return float(this) / _other(args[0], this)


@method("Numeric", "%", "modulo")
def _modulo(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return this % _other(args[0], this)


@method("Numeric", "**", "pow")
def _power(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    other = _other(args[0], this)
    if abs(other) > 4096:
        raise ValueError("the exponent is too large")
    return this**other


@method("Numeric", "-@")
def _negate(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return -this


@method("Integer", "<<")
def _shift_left(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this << min(int(args[0]), 4096)


@method("Integer", ">>")
def _shift_right(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this >> int(args[0])


@method("Integer", "&")
def _and(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this & int(args[0])


@method("Integer", "|")
def _or(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this | int(args[0])


@method("Numeric", "to_i", "to_int", "truncate")
def _to_i(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> int:
    return int(this)


@method("Numeric", "to_f")
def _to_f(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> float:
    return float(this)


@method("Integer", "to_s")
def _to_s(execution: Execution, this: int, args: list[Any], block: Proc | None) -> str:
    if not args or args[0] == 10:
        return str(this)
    digits, number, base = "", abs(this), int(args[0])
    if not 2 <= base <= 36:
        raise ValueError(f"invalid radix {base}")
    while number or not digits:
        number, rest = divmod(number, base)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return f"{'-' if this < 0 else ''}{digits}"


@method("Numeric", "round")
def _round(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    places = int(args[0]) if args else 0
    if isinstance(this, int) and places >= 0:
        return this
    scaled = abs(this) * 10**places
    rounded = math.copysign(math.floor(scaled + 0.5), this) / 10**places
    return rounded if places > 0 else int(rounded)


@method("Numeric", "ceil")
def _ceil(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> int:
    return math.ceil(this)


@method("Numeric", "floor")
def _floor(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> int:
    return math.floor(this)


@method("Numeric", "abs")
def _abs(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return abs(this)


@method("Numeric", "zero?")
def _is_zero(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> bool:
    return this == 0


@method("Numeric", "positive?")
def _is_positive(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> bool:
    return this > 0


@method("Numeric", "negative?")
def _is_negative(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> bool:
    return this < 0


@method("Integer", "even?")
def _is_even(execution: Execution, this: int, args: list[Any], block: Proc | None) -> bool:
    return this % 2 == 0


@method("Integer", "odd?")
def _is_odd(execution: Execution, this: int, args: list[Any], block: Proc | None) -> bool:
    return this % 2 == 1


@method("Integer", "succ", "next")
def _succ(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this + 1


@method("Integer", "pred")
def _pred(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this - 1


@method("Integer", "chr")
def _chr(execution: Execution, this: int, args: list[Any], block: Proc | None) -> str:
    return chr(this)


@method("Integer", "times")
def _times(execution: Execution, this: int, args: list[Any], block: Proc | None) -> Any:
    return _count_through(execution, this, range(this), block)


def _count_through(execution: Execution, this: int, numbers: range, block: Proc | None) -> Any:
    if block is None:
        return list(numbers[:100_000])
    for number in numbers:
        execution.yield_to(block, number)
    return this


@method("Integer", "upto")
def _upto(execution: Execution, this: int, args: list[Any], block: Proc | None) -> Any:
    return _count_through(execution, this, range(this, int(args[0]) + 1), block)


@method("Integer", "downto")
def _downto(execution: Execution, this: int, args: list[Any], block: Proc | None) -> Any:
    return _count_through(execution, this, range(this, int(args[0]) - 1, -1), block)


@method("Integer", "step")
def _step(execution: Execution, this: int, args: list[Any], block: Proc | None) -> Any:
    by = int(args[1]) if len(args) > 1 else 1
    return _count_through(execution, this, range(this, int(args[0]) + (1 if by > 0 else -1), by), block)


@method("Numeric", "between?")
def _is_between(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> bool:
    return bool(_other(args[0], this) <= this <= _other(args[1], this))


@method("Numeric", "clamp")
def _clamp(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return max(_other(args[0], this), min(this, _other(args[1], this)))


@method("Integer", "gcd")
def _gcd(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return math.gcd(this, int(args[0]))


@method("Integer", "divmod")
def _divmod(execution: Execution, this: int, args: list[Any], block: Proc | None) -> list[int]:
    return list(divmod(this, int(args[0])))


def integer(value: Any, base: int = 10) -> int:
    """Return what Ruby's `String#to_i` gives: the number at the beginning of the string, or 0."""
    text, digits = to_str(value).strip().replace("_", "").lower(), ""
    sign = -1 if text.startswith("-") else 1
    for char in text.lstrip("+-"):
        if not char.isascii() or not char.isalnum() or int(char, 36) >= base:
            break
        digits += char
    return sign * int(digits, base) if digits else 0


@method("Integer", "[]")
def _bit(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this >> int(args[0]) & 1


@method("Integer", "^")
def _exclusive(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this ^ int(args[0])


@method("Integer", "~")
def _invert(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return ~this


@method("Numeric", "+@")
def _plus(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return this


@method("Integer", "bit_length")
def _bit_length(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this.bit_length()


@method("Integer", "digits")
def _digits(execution: Execution, this: int, args: list[Any], block: Proc | None) -> list[int]:
    base, rest, found = int(args[0]) if args else 10, this, list[int]()
    if this < 0:
        raise ValueError("out of domain")
    while rest or not found:
        rest, digit = divmod(rest, base)
        found.append(digit)
    return found


@method("Integer", "lcm")
def _lcm(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return math.lcm(this, int(args[0]))


@method("Integer", "ord")
def _ord(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return this


@method("Integer", "size")
def _size(execution: Execution, this: int, args: list[Any], block: Proc | None) -> int:
    return 8


@method("Numeric", "integer?")
def _is_integer(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> bool:
    return isinstance(this, int)


@method("Numeric", "finite?")
def _is_finite(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> bool:
    return math.isfinite(this)


@method("Numeric", "infinite?")
def _is_infinite(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> int | None:
    return (1 if this > 0 else -1) if math.isinf(this) else None


@method("Float", "nan?")
def _is_nan(execution: Execution, this: float, args: list[Any], block: Proc | None) -> bool:
    return math.isnan(this)


@method("Numeric", "magnitude")
def _magnitude(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    return abs(this)


@method("Numeric", "nonzero?")
def _nonzero(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number | None:
    return this or None


@method("Float", "divmod")
def _float_divmod(execution: Execution, this: float, args: list[Any], block: Proc | None) -> list[Any]:
    quotient, rest = divmod(this, _other(args[0], this))
    return [int(quotient), rest]


@method("Numeric", "remainder")
def _remainder(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> _Number:
    other = _other(args[0], this)
    return type(this)(math.fmod(this, other))


@method("Numeric", "coerce")
def _coerce(execution: Execution, this: _Number, args: list[Any], block: Proc | None) -> list[Any]:
    return [args[0], this]


@method("Integer", "anybits?")
def _has_any_bits(execution: Execution, this: int, args: list[Any], block: Proc | None) -> bool:
    return this & int(args[0]) != 0


@method("Integer", "allbits?")
def _has_all_bits(execution: Execution, this: int, args: list[Any], block: Proc | None) -> bool:
    return this & int(args[0]) == int(args[0])


@method("Float", "step")
def _float_step(execution: Execution, this: float, args: list[Any], block: Proc | None) -> Any:
    limit, by = float(args[0]), float(args[1]) if len(args) > 1 else 1.0
    count = math.floor((limit - this) / by + 1e-9)
    items = [this + at * by for at in range(count + 1)]
    for item in items if block is not None else ():
        execution.yield_to(block, item)
    return items if block is None else this
