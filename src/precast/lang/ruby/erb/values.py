"""Ruby's values inside a template, and how Puppet's become them.

nil is None, true and false bool, Integer int, Float float, String str, Array list, Hash dict. Arrays and hashes can change, so each
use of a variable gives a fresh one. Strings do not change here: `<<` on a variable assigns to it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from precast.lang.ruby import text as rubytext
from precast.lang.values import core as values
from precast.lang.values.core import DEFAULT, Hash, Unknown
from precast.lang.values.unknowns import join, stays_open


class Symbol(NamedTuple):
    """`:name`."""

    name: str


class Range(NamedTuple):
    """`first..last`, or `...` without the last."""

    first: Any
    last: Any
    is_exclusive: bool


class Pattern(NamedTuple):
    """A regular expression: its text as Ruby has it, and as Python matches it."""

    text: str
    compiled: Any
    flags: str = ""


class Constant(NamedTuple):
    """The name of a class or module."""

    name: str


class Proc:
    """A block or lambda. `arity` is the number of its plain parameters."""

    __slots__ = ("arity", "call")

    def __init__(self, arity: int, call: Callable[..., Any]) -> None:
        self.arity = arity
        self.call = call


class RubyScope:
    """What `scope` is in a template."""

    __slots__ = ()

    def __str__(self) -> str:
        return "scope"


class RubyScopeHash:
    """What `scope.to_hash` is: asked for one name, it looks that one up, so that nothing else is read."""

    __slots__ = ()


SCOPE = RubyScope()


def to_ruby(value: Any) -> Any:
    """A value of Puppet's as a template sees it."""
    if isinstance(value, tuple):
        return [to_ruby(item) for item in value]
    if isinstance(value, Hash):
        return {hash_key(to_ruby(key)): to_ruby(item) for key, item in value.items()}
    return Symbol("default") if value is DEFAULT else value


def from_ruby(value: Any) -> Any:
    """A template's value as Puppet's functions take it."""
    if isinstance(value, list):
        return tuple(from_ruby(item) for item in value)
    if isinstance(value, dict):
        return Hash.of((from_ruby(plain_key(key)), from_ruby(item)) for key, item in value.items())
    if isinstance(value, Symbol):
        return None if value.name == "undef" else value.name
    if isinstance(value, Range):
        return from_ruby(list(range_items(value)))
    return values.Regexp(value.text) if isinstance(value, Pattern) else value


class ListKey(tuple[Any, ...]):
    """An array as the key of a hash."""

    __slots__ = ()


def hash_key(value: Any) -> Any:
    return ListKey(map(hash_key, value)) if isinstance(value, list) else value


def plain_key(value: Any) -> Any:
    return [plain_key(item) for item in value] if isinstance(value, ListKey) else value


def is_true(value: Any) -> bool:
    return value is not None and value is not False


def range_items(span: Range) -> list[Any]:
    first, last = span.first, span.last
    if isinstance(first, int) and isinstance(last, int | float):
        return list(range(first, int(last) + (not span.is_exclusive)))
    if isinstance(first, str) and isinstance(last, str):
        found = _letters(first, last)
        return found[:-1] if span.is_exclusive and found and found[-1] == last else found
    raise TypeError("can't iterate from that")


def _letters(first: str, last: str) -> list[str]:
    found = [first]
    while found[-1] != last and len(found[-1]) <= len(last) and len(found) < 100_000:
        found.append(successor(found[-1]))
    return found if len(found[-1]) <= len(last) else found[:-1]


def successor(text: str) -> str:
    """Ruby's `succ` for letters and digits."""
    chars = list(text)
    for at in range(len(chars) - 1, -1, -1):
        char = chars[at]
        if char not in "zZ9":
            chars[at] = chr(ord(char) + 1)
            return "".join(chars)
        chars[at] = {"z": "a", "Z": "A", "9": "0"}[char]
    return {"a": "a", "A": "A", "0": "1"}.get(chars[0], "") + "".join(chars)


def to_s(value: Any) -> Any:
    """Ruby's to_s; what is not known yet stays so."""
    if isinstance(value, str):
        return value
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Symbol | Constant):
        return value.name
    if isinstance(value, Pattern):
        off = "".join(flag for flag in "mix" if flag not in value.flags)
        return f"(?{value.flags}{'-' if off else ''}{off}:{value.text})"
    if isinstance(value, list | dict):
        return inspect(value)
    if isinstance(value, Range):
        return f"{to_s(value.first)}{'...' if value.is_exclusive else '..'}{to_s(value.last)}"
    return float_text(value) if isinstance(value, float) else rubytext.ruby_text(value)


def float_text(value: float) -> str:
    """Ruby's form: with an exponent from 1e15 on."""
    if value == value and 1e15 <= abs(value) < 1e16:  # NaN is not equal to itself
        mantissa, _, exponent = f"{value:.17g}".partition("e")
        shortest = repr(value * 1e-15) if float(repr(value * 1e-15) + "e15") == value else mantissa
        return f"{shortest}e+{int(exponent or 15):02d}"
    return rubytext.ruby_text(value)


def inspect(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(inspect, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inspect(plain_key(key))}=>{inspect(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Symbol):
        return f":{value.name}"
    if isinstance(value, Pattern):
        return f"/{value.text}/{value.flags}"
    if isinstance(value, Constant | Range):
        return str(to_s(value))
    return rubytext.ruby_inspect(value)


def text_of(pieces: list[Any]) -> Any:
    """Pieces as one text, which may hold what is not known yet."""
    return join(pieces) if any(map(stays_open, pieces)) else "".join(pieces)


def equal(left: Any, right: Any) -> bool:
    """Ruby's `==`: 1 equals 1.0, true equals nothing but itself."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    if isinstance(left, Symbol | Constant | Range) or isinstance(right, Symbol | Constant | Range):
        return type(left) is type(right) and bool(left == right)
    return bool(left == right)


CLASSES: dict[str, tuple[type, ...]] = {
    "String": (str,), "Array": (list,), "Hash": (dict,), "Integer": (int,), "Fixnum": (int,), "Float": (float,),
    "Numeric": (int, float), "Symbol": (Symbol,), "NilClass": (type(None),), "Range": (Range,), "Regexp": (Pattern,),
    "TrueClass": (bool,), "FalseClass": (bool,), "Proc": (Proc,), "Enumerable": (list, dict, Range),
    "Comparable": (str, int, float),
}  # fmt: skip


def is_a(value: Any, name: str) -> bool:
    if name in ("Object", "BasicObject", "Kernel"):
        return True
    if isinstance(value, bool):
        return name == ("TrueClass" if value else "FalseClass")
    return name not in ("TrueClass", "FalseClass") and isinstance(value, CLASSES.get(name, ()))


def class_name(value: Any) -> str:
    if value is None:
        return "NilClass"
    if isinstance(value, bool):
        return "TrueClass" if value else "FalseClass"
    names = ("String", "Array", "Hash", "Integer", "Float", "Symbol", "Range", "Regexp", "Proc")
    return next((name for name in names if isinstance(value, CLASSES[name])), type(value).__name__)
