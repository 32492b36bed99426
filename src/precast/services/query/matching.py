"""Whether a node or a resource is one of those that a query means.

A field that it does not have fits no comparison, not even `!=`: nodes that have said nothing are not swept along. `not` turns
round whatever stands behind it.
"""

import re
from collections.abc import Callable
from typing import Any, Protocol

from precast.wire.query.patterns import Pattern
from precast.wire.query.targets import (
    And,
    Comparison,
    Existence,
    Has,
    Membership,
    Named,
    Not,
    Or,
    Referred,
    Term,
    Value,
)

# A pattern looks at this much of a text, and at this many elements of a list.
MAX_TEXT_CHARS = 4096
MAX_ELEMENTS = 1000
ABSENT = object()
_VERSION = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})*")


Test = Callable[[Any], bool]


class Reading(Protocol):
    """How a kind of thing is read: nodes, or resources."""

    def looking_up(self, parts: tuple[str, ...]) -> Callable[[Any], Any]:
        """What finds the value of a field in a thing, by its parts; `ABSENT` if it has none."""

    def standing(self, term: Named | Referred | Has) -> Test:
        """What decides about a term that stands by itself."""


def matcher(term: Term, reading: Reading) -> Test:
    """What decides about one thing after another. Everything that can be prepared is prepared once."""
    if isinstance(term, Named | Referred | Has):
        return reading.standing(term)
    if isinstance(term, And):
        every = [matcher(one, reading) for one in term.terms]
        return lambda thing: all(test(thing) for test in every)
    if isinstance(term, Or):
        return _either(term, reading)
    if isinstance(term, Not):
        inner = matcher(term.term, reading)
        return lambda thing: not inner(thing)
    return _on_field(term, reading.looking_up(term.field.parts))


def _either(term: Or, reading: Reading) -> Test:
    """Plain names are looked up together: there may be thousands."""
    names = frozenset(one.text for one in term.terms if isinstance(one, Named) and not one.is_glob)
    others = [matcher(one, reading) for one in term.terms if not isinstance(one, Named) or one.is_glob]
    if not names:
        return lambda thing: any(test(thing) for test in others)
    return lambda thing: thing.name in names or any(test(thing) for test in others)


def _on_field(term: Comparison | Membership | Existence, look_up: Callable[[Any], Any]) -> Test:
    if isinstance(term, Existence):
        return lambda thing: look_up(thing) is not ABSENT
    if isinstance(term, Membership):
        accepts = [_equal(one.value) for one in term.values]
        return lambda thing: any(_any_element(look_up(thing), test) for test in accepts)
    test = _comparing(term.sign, term.value)
    if term.sign not in ("!=", "!~"):
        return lambda thing: _any_element(look_up(thing), test)

    def differs(thing: Any) -> bool:
        value = look_up(thing)
        return value is not ABSENT and value is not None and not _any_element(value, test)

    return differs


def _any_element(value: Any, test: Callable[[Any], bool]) -> bool:
    """A list fits if one of its elements does. Objects and what is absent fit nothing."""
    if isinstance(value, list):
        return any(test(one) for one in value[:MAX_ELEMENTS] if not isinstance(one, dict | list) and one is not None)
    return value is not ABSENT and value is not None and not isinstance(value, dict) and test(value)


def _comparing(sign: str, value: Value) -> Callable[[Any], bool]:
    if sign in ("=", "!="):
        return _equal(value.value)
    if sign in ("~", "!~"):
        pattern = Pattern(str(value.value))
        return lambda found: pattern.matches(_text(found)[:MAX_TEXT_CHARS])
    return _ordered(sign, value.value)


def _equal(wanted: Any) -> Callable[[Any], bool]:
    """Truth equals truth, a number also the text that looks like it, a text the same text."""
    if isinstance(wanted, bool):
        return lambda found: found is wanted
    if isinstance(wanted, int | float):
        return lambda found: _number(found) == wanted
    return lambda found: isinstance(found, str) and found == wanted


def _ordered(sign: str, wanted: Any) -> Callable[[Any], bool]:
    """By number; or, if a quoted text is asked for, by the parts of a version such as 12.10."""
    read = _version if isinstance(wanted, str) else _number
    limit: Any = read(wanted)
    orders: dict[str, Callable[[Any], bool]] = {
        ">": lambda found: found > limit,
        "<": lambda found: found < limit,
        ">=": lambda found: found >= limit,
        "<=": lambda found: found <= limit,
    }
    holds = orders[sign]
    return lambda found: limit is not None and (value := read(found)) is not None and holds(value)


def _number(value: Any) -> int | float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", value):
        return float(value) if "." in value else int(value)
    return None


def _version(value: Any) -> tuple[int, ...] | None:
    text = _text(value)
    return tuple(map(int, text.split("."))) if _VERSION.fullmatch(text[:200]) else None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
