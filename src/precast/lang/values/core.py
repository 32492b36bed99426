"""The values of the Puppet language, and what may be asked of every one of them.

undef is None, Boolean bool, Integer int, Float float, String str, Array tuple, Hash the `Hash` of lang/values/hashes.py; everything else
is a `Rich` value. Values never change once made, so they may be shared, cached and used as keys. Python's own `==` takes 1 for 1.0
and for true, and minds the case of strings; Puppet does neither, so values are compared by `equals` and `compare` alone.
"""

import base64
import math
import re
from collections.abc import Callable, Sequence
from collections.abc import Iterator as PythonIterator
from typing import Any, Final

from precast.lang.issues import types as issues
from precast.lang.values.hashes import Hash as Hash
from precast.lang.values.hashes import strict as strict

Value = Any  # one of the above; a narrower alias would only move casts around


class Rich:
    """A value that JSON has no form for. Subclasses are frozen; equality and hash go by content."""

    __slots__ = ()

    def rich_name(self) -> str:
        """The name of its type in the rich data form."""
        return type(self).__name__

    def rich_value(self) -> Value:
        """What the rich data form keeps of it: data, or a value that is itself encoded."""
        return str(self)

    def equal_to(self, other: Value) -> bool:
        """Puppet's `==`, where it is less strict than the equality of content."""
        return bool(self == other)


class Default(Rich):
    """The value of the word `default`; there is one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "default"


DEFAULT: Final = Default()


class Unknown(Rich):
    """A value that is not known while compiling: a hole, a future, a Deferred. The compiler's subclasses say which."""

    __slots__ = ()

    def may_be(self, wanted: Value) -> bool:
        """Whether the value, once known, may be an instance of this type; unless a subclass knows more, it may."""
        return True


class Regexp(Rich):
    """A regular expression in Ruby's notation."""

    __slots__ = ("pattern",)

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Regexp) and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash(("Regexp", self.pattern))

    def rich_value(self) -> Value:
        return self.pattern

    def __str__(self) -> str:
        return f"/{escape_slashes(self.pattern)}/"


def escape_slashes(pattern: str) -> str:
    """The pattern as it stands between slashes: a slash that is not escaped yet gets its backslash."""
    if "/" not in pattern:
        return pattern
    out: list[str] = []
    escaped = False
    for char in pattern:
        out.append("\\/" if char == "/" and not escaped else char)
        escaped = char == "\\" and not escaped
    return "".join(out)


class Sensitive(Rich):
    """A value that is never printed."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def unwrap(self) -> Value:
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sensitive) and strict(self._value) == strict(other._value)

    def __hash__(self) -> int:
        return hash(("Sensitive", strict(self._value)))

    def rich_value(self) -> Value:
        return self._value

    def __str__(self) -> str:
        return "Sensitive [value redacted]"

    __repr__ = __str__


class Binary(Rich):
    """Bytes; their text is base64."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Binary) and self.data == other.data

    def __hash__(self) -> int:
        return hash(("Binary", self.data))

    def __str__(self) -> str:
        return base64.b64encode(self.data).decode()


class Object(Rich):
    """An instance of an Object type: its attributes by name, in the order of the type."""

    __slots__ = ("attributes", "type")

    def __init__(self, type_: Value, attributes: "Hash") -> None:
        self.type = type_  # a datatypes.ObjectType
        self.attributes = attributes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and bool(self.type.same(self, other))

    def __hash__(self) -> int:
        return hash(("Object", self.type.label))

    def rich_name(self) -> str:
        return str(self.type.label_of(self))

    def rich_value(self) -> Value:
        return self.type.initial_hash(self)

    def __str__(self) -> str:
        return f"{self.type.label}({literal(self.rich_value())})"


class ActiveObject(Object):
    """An object of the language itself whose functions are ours: what they do depends on more than its attributes."""

    __slots__ = ()

    def function(self, name: str) -> "Callable[[Sequence[Value], Value], Value] | None":
        """What a call of one of its functions runs, with arguments and block; None if it has none of that name."""
        return None


class Iterator(Rich):
    """What `reverse_each`, `step` and their kin give: a lazy sequence, which is no Array and equal to nothing but itself."""

    __slots__ = ("element_type", "items")

    def __init__(self, items: Sequence[Value], element_type: Value) -> None:
        self.items = items
        self.element_type = element_type  # a datatypes.Type

    def __iter__(self) -> PythonIterator[Value]:
        return iter(self.items)

    def rich_value(self) -> Value:
        return tuple(self.items)

    def __str__(self) -> str:
        return f"Iterator[{self.element_type.generalized()}]-Value"


def is_true(value: Value) -> bool:
    """Puppet's truth: all but undef and false."""
    return value is not None and value is not False


_UPPER_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def fold(text: str) -> str:
    """The text as comparisons see it: only A to Z lose their case."""
    return text.lower() if text.isascii() else text.translate(_UPPER_TO_LOWER)


def equals(a: Value, b: Value) -> bool:
    """Puppet's `==`: strings without case, numbers by value, nothing else across kinds."""
    if type(a) is str:
        return type(b) is str and (a == b or fold(a) == fold(b))
    if a is None or b is None or isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(equals, a, b))
    if isinstance(a, Hash):
        if not isinstance(b, Hash) or len(a) != len(b):
            return False
        return all(b.has(key) and equals(value, b.lookup(key)) for key, value in a.items())
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        return float(a) == float(b) if isinstance(a, float) or isinstance(b, float) else int(a) == int(b)
    if isinstance(a, Rich):
        return a.equal_to(b)
    return isinstance(b, Rich) and b.equal_to(a)


def compare(a: Value, b: Value, operator: str = "<") -> int:
    """-1, 0 or 1 for two values that have an order; raises LANG-201 for others. The operator is for the message."""
    reason = None
    if isinstance(a, str):
        if isinstance(b, str):
            left, right = fold(a), fold(b)
            return (left > right) - (left < right)
        reason = "A String is not comparable to a non String"
    elif is_number(a):
        if is_number(b):
            return int(a > b) - int(a < b)
        found = b.order(a) if isinstance(b, Ordered) else None
        if found is not None:
            return -found
        reason = "A Numeric is not comparable to non Numeric"
    elif isinstance(a, Ordered):
        found = a.order(b)
        if found is not None:
            return found
        reason = a.alone
    return _incomparable(
        a, b, operator, reason or "Only Strings, Numbers, Timespans, Timestamps, and Versions are comparable"
    )


def _incomparable(a: Value, b: Value, operator: str, reason: str) -> int:
    raise issues.NOT_COMPARABLE.error(left=kind_name(a), operator=operator, right=kind_name(b), reason=reason)


class Ordered(Rich):
    """A Rich value that has an order with some others."""

    __slots__ = ()
    alone = ""  # why it cannot be compared with the rest

    def order(self, other: Value) -> int | None:
        """-1, 0 or 1, or None where there is no order."""
        raise NotImplementedError


_NUMBERS: Final = (int, float)  # a tuple made once: writing int | float would make the union at every call


def is_number(value: Value) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def float_text(value: float) -> str:
    """A Float as Ruby prints it: 1.0, 1.0e+20, 1.0e-05, Infinity, NaN."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    text = repr(float(value))
    if "e" not in text:
        # Ruby turns to exponents at 10**15 where nothing stands behind the point, Python one later.
        return text if abs(value) < _EXPONENT_FROM or not text.endswith(".0") else _with_exponent(text[:-2])
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa if "." in mantissa else mantissa + ".0"
    return f"{mantissa}e{exponent[0]}{exponent[1:].zfill(2)}"


_EXPONENT_FROM: Final = 1e15


def _with_exponent(whole: str) -> str:
    sign, digits = ("-", whole[1:]) if whole[0] == "-" else ("", whole)
    return f"{sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}e+{len(digits) - 1}"


def to_string(value: Value) -> str:
    """The value as interpolation writes it."""
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(to_string, value))}]"
    if isinstance(value, Hash):
        return "{" + ", ".join(f"{to_string(k)} => {to_string(v)}" for k, v in value.items()) + "}"
    return str(value)


def literal(value: Value) -> str:
    """The value as code that gives it again: strings in quotes, the rest as interpolation writes it."""
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "undef"
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, Hash):
        return "{" + ", ".join(f"{literal(k)} => {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sensitive):
        return f"#<{value}>"
    return to_string(value)


_BARE_QUOTE: Final = re.compile(r"(?<!\\)'")
_QUOTE: Final = r"\\'"
_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"', "$": "\\$"}


def quoted(text: str) -> str:
    """A string literal: single quotes if nothing in it needs double ones."""
    if all(char.isprintable() for char in text):
        return f"'{_BARE_QUOTE.sub(_QUOTE, text)}'" if "'" in text else f"'{text}'"
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):X}}}") for c in text) + '"'


_KINDS: Final[dict[type, str]] = {
    str: "String", int: "Integer", float: "Float", bool: "Boolean", type(None): "Undef Value",
    tuple: "Array", Hash: "Hash", Default: "Default Value", Regexp: "Regexp",
}  # fmt: skip


def kind_name(value: Value) -> str:
    """The kind of a value as messages name it."""
    name = _KINDS.get(type(value))
    if name is not None:
        return name
    for kind, name in _KINDS.items():
        if isinstance(value, kind):
            return name
    return value.rich_name() if isinstance(value, Rich) else type(value).__name__


def rich(value: Value) -> Any:
    """The value as JSON: data as it is, all else as {"__ptype": …, "__pvalue": …}."""
    kind = type(value)
    if kind is str or kind is int or value is None or kind is bool:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"__ptype": "Float", "__pvalue": float_text(value)}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, tuple):
        return [rich(item) for item in value]
    if isinstance(value, Hash):
        if all(type(key) is str for key in value):
            return {key: rich(item) for key, item in value.items()}
        return {"__ptype": "Hash", "__pvalue": [[rich(key), rich(item)] for key, item in value.items()]}
    if value is DEFAULT:
        return {"__ptype": "Default"}
    return {"__ptype": value.rich_name(), "__pvalue": rich(value.rich_value())}


def from_data(data: Any) -> Value:
    """A value from plain data: lists become Arrays, dicts become Hashes."""
    if isinstance(data, dict):
        return Hash.of((key, from_data(item)) for key, item in data.items())
    if isinstance(data, list | tuple):
        return tuple(map(from_data, data))
    return data
