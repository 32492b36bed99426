"""The values of running Ruby code, their operations, and the conversion from and to Puppet's values.

nil is None, true and false are bool, Integer is int, Float float, String str, Array list and Hash dict. Arrays and hashes are mutable,
so each use of a variable of the manifest gives a fresh copy. Strings are immutable here: `<<` on a variable assigns to it.
"""

import re
from typing import Any, NamedTuple

from precast.lang.datatypes.base import Type
from precast.lang.issues import erb as issues
from precast.lang.ruby.objects import Constant, Proc, RubyClass, RubyObject
from precast.lang.ruby.puppet_text import ruby_inspect, ruby_text
from precast.lang.ruby.stdlib.successors import upto
from precast.lang.values import base as values
from precast.lang.values.base import DEFAULT, Hash, Unknown, escape_slashes
from precast.lang.values.unknowns import has_unknown_text, join

# Limits of one value. A larger one is taken for a mistake.
MAX_LENGTH = 16 * 1024 * 1024
MAX_ITEMS = 1_000_000
MAX_STRINGS = 100_000  # of a range of strings


class Symbol(NamedTuple):
    """`:name`."""

    name: str


class Range(NamedTuple):
    """`first..last`, or `first...last`, which excludes the last."""

    first: Any
    last: Any
    is_exclusive: bool


class Pattern(NamedTuple):
    """A regular expression: its text as Ruby writes it, and the compiled form that Python matches."""

    text: str
    compiled: Any
    flags: str = ""


class Instance:
    """An object of a class of the standard library; `kind_name` is the name of the class."""

    kind_name = "Object"


class RubySet:
    """A Set: its items are the keys of a dict."""

    __slots__ = ("keys",)

    def __init__(self, items: Any = ()) -> None:
        self.keys: dict[Any, None] = dict.fromkeys(map(hash_key, items))

    def items(self) -> list[Any]:
        return [plain_key(key) for key in self.keys]


class TemplateSelf:
    """The value of `self` in a template."""

    __slots__ = ()


class RubyScope:
    """The value of `scope` in a template, and of self in a function of the older kind; `scope` is None for the scope of the call."""

    __slots__ = ("scope",)

    def __init__(self, scope: Any = None) -> None:
        self.scope = scope

    def __str__(self) -> str:
        return "scope"


class RubyScopeHash:
    """The value of `scope.to_hash`: it looks up single names, so that the compile reads no other variable."""

    __slots__ = ()


SCOPE = RubyScope()
TEMPLATE = TemplateSelf()


def to_ruby(value: Any) -> Any:
    """Return a Puppet value as Ruby code sees it."""
    if isinstance(value, tuple):
        return [to_ruby(item) for item in value]
    if isinstance(value, Hash):
        return {hash_key(to_ruby(key)): to_ruby(item) for key, item in value.items()}
    return Symbol("default") if value is DEFAULT else value


def from_ruby(value: Any) -> Any:
    """Return a Ruby value as Puppet's functions take it."""
    if isinstance(value, list):
        return tuple(from_ruby(item) for item in value)
    if isinstance(value, dict):
        return Hash.of((from_ruby(plain_key(key)), from_ruby(item)) for key, item in value.items())
    if isinstance(value, Symbol):
        return None if value.name == "undef" else value.name
    if isinstance(value, Range):
        return from_ruby(list(range_items(value)))
    if isinstance(value, RubySet):
        return from_ruby(value.items())
    return values.Regexp(pattern_source(value)) if isinstance(value, Pattern) else value


def pattern_source(value: Pattern) -> str:
    """Return a pattern as Puppet writes it, with its flags in the text."""
    off = "".join(flag for flag in "mix" if flag not in value.flags)
    return f"(?{value.flags}{'-' if off else ''}{off}:{value.text})" if value.flags else value.text


class Key:
    """A value as the key of a hash that Python cannot hash, or would take for another: arrays, hashes, true for 1, 1.0 for 1."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Any) -> None:
        self.kind = kind
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.kind == other.kind and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((self.kind, self.value))


def hash_key(value: Any) -> Any:
    """Return a value in the form in which it is the key of a dict."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return Key("array", tuple(map(hash_key, value)))
    if isinstance(value, dict):
        return Key("hash", tuple((key, hash_key(item)) for key, item in value.items()))
    if isinstance(value, bool):
        return Key("boolean", value)
    return Key("float", value) if isinstance(value, float) else value


def plain_key(value: Any) -> Any:
    """Return the value that a key of a dict stands for."""
    if not isinstance(value, Key):
        return value
    if value.kind == "array":
        return [plain_key(item) for item in value.value]
    if value.kind == "hash":
        return {key: plain_key(item) for key, item in value.value}
    return value.value


def is_truthy(value: Any) -> bool:
    return value is not None and value is not False


def range_items(span: Range) -> list[Any]:
    """Return the items of a range. Raises TypeError if Ruby could not iterate over it."""
    first, last = span.first, span.last
    if isinstance(first, int) and isinstance(last, int | float):
        numbers = range(first, int(last) + (not span.is_exclusive))
        if len(numbers) > MAX_ITEMS:
            raise issues.TOO_LARGE.error(limit=MAX_ITEMS)
        return list(numbers)
    if isinstance(first, str) and isinstance(last, str):
        texts = upto(first, last, MAX_STRINGS)
        return texts[:-1] if span.is_exclusive and texts and texts[-1] == last else texts
    raise TypeError("can't iterate from that")


def to_s(value: Any) -> Any:
    """Return Ruby's `to_s` of a value; an unknown stays unknown."""
    if isinstance(value, str):
        return value
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Symbol | Constant | RubyClass):
        return value.name
    if isinstance(value, Pattern):
        off = "".join(flag for flag in "mix" if flag not in value.flags)
        return f"(?{value.flags}{'-' if off else ''}{off}:{value.text})"
    if isinstance(value, RubyObject):
        return f"#<{value.kind.name}>"
    if isinstance(value, Instance | RubySet):
        return inspect(value)
    if isinstance(value, list | dict):
        return inspect(value)
    if isinstance(value, Range):
        return f"{to_s(value.first)}{'...' if value.is_exclusive else '..'}{to_s(value.last)}"
    return float_text(value) if isinstance(value, float) else ruby_text(value)


def float_text(value: float) -> str:
    """Return a float in Ruby's form: with an exponent from 1e15 on."""
    if value == value and 1e15 <= abs(value) < 1e16:  # NaN is not equal to itself
        mantissa, _, exponent = f"{value:.17g}".partition("e")
        shortest = repr(value * 1e-15) if float(repr(value * 1e-15) + "e15") == value else mantissa
        return f"{shortest}e+{int(exponent or 15):02d}"
    return ruby_text(value)


def inspect(value: Any) -> str:
    """Return Ruby's `inspect` of a value."""
    if isinstance(value, list):
        return f"[{', '.join(map(inspect, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inspect(plain_key(key))}=>{inspect(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Symbol):
        is_plain = re.fullmatch(r"@{0,2}[A-Za-z_]\w*[?!=]?|[-+*/%<>=!~^&|\[\]@]+", value.name)
        return f":{value.name}" if is_plain else f":{ruby_inspect(value.name)}"
    if isinstance(value, Pattern):
        return f"/{escape_slashes(value.text)}/{value.flags}"
    if isinstance(value, Range):
        first = "" if value.first is None else inspect(value.first)
        return f"{first}{'...' if value.is_exclusive else '..'}{'' if value.last is None else inspect(value.last)}"
    if isinstance(value, RubySet):
        return f"#<Set: {{{', '.join(map(inspect, value.items()))}}}>"
    if isinstance(value, Constant | RubyClass | RubyObject):
        return str(to_s(value))
    if isinstance(value, Instance):
        return f"#<{value.kind_name}>"
    if isinstance(value, float):
        return float_text(value)
    return ruby_inspect(value)


def join_pieces(pieces: list[Any]) -> Any:
    """Return the pieces as one text, which is unknown if a piece is."""
    if any(map(has_unknown_text, pieces)):
        return join(pieces)
    if sum(map(len, pieces)) > MAX_LENGTH:
        raise issues.TOO_LARGE.error(limit=MAX_LENGTH)
    return "".join(pieces)


def equal(left: Any, right: Any) -> bool:
    """Return Ruby's `==`: 1 equals 1.0, and true equals only itself."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    if isinstance(left, RubySet) and isinstance(right, RubySet):
        return left.keys.keys() == right.keys.keys()
    if isinstance(left, Symbol | Constant | Range) or isinstance(right, Symbol | Constant | Range):
        return type(left) is type(right) and bool(left == right)
    return bool(left == right)


CLASSES: dict[str, tuple[type, ...]] = {
    "String": (str,), "Array": (list,), "Hash": (dict,), "Integer": (int,), "Fixnum": (int,), "Float": (float,),
    "Numeric": (int, float), "Symbol": (Symbol,), "NilClass": (type(None),), "Range": (Range,), "Regexp": (Pattern,),
    "TrueClass": (bool,), "FalseClass": (bool,), "Proc": (Proc,), "Enumerable": (list, dict, Range),
    "Comparable": (str, int, float), "Set": (RubySet,), "Puppet::Pops::Types::PSensitiveType::Sensitive": (values.Sensitive,),
    "Puppet::Pops::Types::PBinaryType::Binary": (values.Binary,), "Class": (Constant, RubyClass), "Module": (Constant, RubyClass),
    "MatchData": (re.Match,), "Puppet::Pops::Types::PAnyType": (Type,),
}  # fmt: skip


def is_a(value: Any, name: str) -> bool:
    if name in ("Object", "BasicObject", "Kernel"):
        return True
    if isinstance(value, Instance):
        return name in (value.kind_name, getattr(value, "parent_name", ""))
    if isinstance(value, bool):
        return name == ("TrueClass" if value else "FalseClass")
    return name not in ("TrueClass", "FalseClass") and isinstance(value, CLASSES.get(name, ()))


def class_name(value: Any) -> str:
    if value is None:
        return "NilClass"
    if isinstance(value, bool):
        return "TrueClass" if value else "FalseClass"
    if isinstance(value, RubyObject):
        return value.kind.name
    if isinstance(value, Instance):
        return value.kind_name
    names = (
        "String",
        "Array",
        "Hash",
        "Integer",
        "Float",
        "Symbol",
        "Range",
        "Regexp",
        "Proc",
        "Set",
        "MatchData",
        "Class",
    )
    return next((name for name in names if isinstance(value, CLASSES[name])), type(value).__name__)
