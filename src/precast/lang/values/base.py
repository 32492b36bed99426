"""The values of the Puppet language, and the operations that every value supports.

undef is None, Boolean bool, Integer int, Float float, String str, Array tuple, Hash the `Hash` of lang/values/hashes.py; everything
else is a `Rich` value. Values never change, so they can be shared, cached and used as keys. For Python's own `==`, 1 equals 1.0 and
true, and strings differ by case; Puppet disagrees in both, so only `equals` and `compare` compare values.
"""

import base64
import math
import re
from collections.abc import Callable, Sequence
from collections.abc import Iterator as PythonIterator
from contextvars import ContextVar
from typing import Any, Final

from precast.lang.issues import types as issues
from precast.lang.values.folding import fold
from precast.lang.values.hashes import Hash as Hash
from precast.lang.values.hashes import identity_of as identity_of

Value = Any  # one of the above; a narrower alias would only require casts


class Rich:
    """A value that JSON cannot represent directly. Subclasses are frozen; equality and hash depend on the content."""

    __slots__ = ()

    def rich_name(self) -> str:
        """The name of its type in rich data."""
        return type(self).__name__

    def rich_value(self) -> Value:
        """Its content in rich data: plain data, or a value that is encoded in turn."""
        return str(self)

    def equal_to(self, other: Value) -> bool:
        """Puppet's `==`, which may be less identity_of than the equality of content."""
        return bool(self == other)


class Default(Rich):
    """The value of the word `default`; there is only one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "default"


DEFAULT: Final = Default()


class Unknown(Rich):
    """A value that is not known at compile time: a hole, a future or a deferred call, each a subclass."""

    __slots__ = ()

    def may_be(self, wanted: Value) -> bool:
        """Whether the value may turn out to be an instance of this type; it may, unless a subclass knows better."""
        return True


class EmptyArray(tuple[Value, ...]):
    """An empty array that is not identical with any other, unlike ()."""

    __slots__ = ()


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
        return self.plain_text()

    def plain_text(self) -> str:
        """The text without slashes. Ruby gives a pattern with other than ASCII characters an encoding, which Puppet shows as options."""
        return f"(?-imx:{self.pattern})" if self._has_encoding() else self.pattern

    def __str__(self) -> str:
        return f"/(?-mix:{self.pattern})/" if self._has_encoding() else f"/{escape_slashes(self.pattern)}/"

    def _has_encoding(self) -> bool:
        return not self.pattern.isascii() or "\\u" in self.pattern


def escape_slashes(pattern: str) -> str:
    """The pattern as written between slashes: a backslash is added before each unescaped slash."""
    if "/" not in pattern:
        return pattern
    out: list[str] = []
    escaped = False
    for char in pattern:
        out.append("\\/" if char == "/" and not escaped else char)
        escaped = char == "\\" and not escaped
    return "".join(out)


# Called with the value of each Sensitive that is made.
ON_SENSITIVE: ContextVar[Callable[[Value], None] | None] = ContextVar("on_sensitive", default=None)


class Sensitive(Rich):
    """A value that is never printed."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value
        if (note := ON_SENSITIVE.get()) is not None:
            note(value)

    def unwrap(self) -> Value:
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sensitive) and identity_of(self._value) == identity_of(other._value)

    def __hash__(self) -> int:
        return hash(("Sensitive", identity_of(self._value)))

    def rich_value(self) -> Value:
        return self._value

    def __str__(self) -> str:
        return "Sensitive [value redacted]"

    __repr__ = __str__


def has_sensitive(value: Value) -> bool:
    """Whether a value is Sensitive, or an array or hash that contains such a value."""
    if isinstance(value, tuple):
        return any(map(has_sensitive, value))
    if isinstance(value, Hash):
        return any(map(has_sensitive, value.values()))
    return isinstance(value, Sensitive)


class Binary(Rich):
    """Bytes; as text they are base64."""

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
    """An object whose functions we implement, because they depend on more than its attributes."""

    __slots__ = ()

    def function(self, name: str) -> "Callable[[Sequence[Value], Value], Value] | None":
        """The implementation of a function, called with arguments and block; None if there is no such function."""
        return None


class Iterator(Rich):
    """A lazy sequence, as `reverse_each` and `step` return it; it is not an Array and equals only itself."""

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
    """Puppet's truth: everything but undef and false."""
    return value is not None and value is not False


def equals(left: Value, right: Value) -> bool:
    """Puppet's `==`: strings without case, numbers by value, values of different kinds never."""
    if type(left) is str:
        return type(right) is str and (left == right or fold(left) == fold(right))
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, tuple):
        return isinstance(right, tuple) and len(left) == len(right) and all(map(equals, left, right))
    if isinstance(left, Hash):
        if not isinstance(right, Hash) or len(left) != len(right):
            return False
        return all(right.has(key) and equals(value, right.lookup(key)) for key, value in left.items())
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        is_float = isinstance(left, float) or isinstance(right, float)
        return float(left) == float(right) if is_float else int(left) == int(right)
    if isinstance(left, Rich):
        return left.equal_to(right)
    return isinstance(right, Rich) and right.equal_to(left)


def compare(a: Value, b: Value, operator: str = "<") -> int:
    """-1, 0 or 1 for two comparable values. Raises LANG-201 for others; `operator` is for its message."""
    reason = None
    if isinstance(a, str):
        if isinstance(b, str):
            left, right = fold(a), fold(b)
            return (left > right) - (left < right)
        reason = "A String is not comparable to a non String"
    elif is_number(a):
        if is_number(b):
            return int(a > b) - int(a < b)
        order = b.order(a) if isinstance(b, Ordered) else None
        if order is not None:
            return -order
        reason = "A Numeric is not comparable to non Numeric"
    elif isinstance(a, Ordered):
        order = a.order(b)
        if order is not None:
            return order
        reason = a.incomparable_reason
    return _incomparable(
        a, b, operator, reason or "Only Strings, Numbers, Timespans, Timestamps, and Versions are comparable"
    )


def _incomparable(a: Value, b: Value, operator: str, reason: str) -> int:
    raise issues.NOT_COMPARABLE.error(left=kind_name(a), operator=operator, right=kind_name(b), reason=reason)


class Ordered(Rich):
    """A Rich value that can be compared with some other values."""

    __slots__ = ()
    incomparable_reason = ""  # why it cannot be compared with other values

    def order(self, other: Value) -> int | None:
        """-1, 0 or 1, or None if the two cannot be compared."""
        raise NotImplementedError


_NUMBERS: Final = (int, float)  # a tuple built once: int | float would build a union at every call


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
        # For whole numbers Ruby switches to exponents at 10**15, Python one digit later.
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
    """The value as code that evaluates to it: strings in quotes, the rest as in interpolation."""
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
    """A string literal: in single quotes, unless a character needs double quotes."""
    if all(char.isprintable() for char in text):
        return f"'{_BARE_QUOTE.sub(_QUOTE, text)}'" if "'" in text else f"'{text}'"
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):X}}}") for c in text) + '"'


_KINDS: Final[dict[type, str]] = {
    str: "String", int: "Integer", float: "Float", bool: "Boolean", type(None): "Undef Value",
    tuple: "Array", EmptyArray: "Array", Hash: "Hash", Default: "Default Value", Regexp: "Regexp",
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
    """The value as JSON: plain data as it is, everything else as {"__ptype": …, "__pvalue": …}."""
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
