"""Whether a node is one of those that a target means.

A field that a node does not have fits no comparison, not even `!=`: nodes that have said nothing are not swept along. `not` turns
round whatever stands behind it.
"""

import re
from collections.abc import Callable
from typing import Any, Protocol

from precast.agent.facts import paths
from precast.wire.names import matches
from precast.wire.patterns import Pattern
from precast.wire.targets import And, Comparison, Existence, Field, Membership, Named, Not, Or, Term, Value

# A pattern looks at this much of a text, and at this many elements of a list.
MAX_TEXT_CHARS = 4096
MAX_ELEMENTS = 1000
_ABSENT = object()
_VERSION = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})*")


class Candidate(Protocol):
    """What is known of a node."""

    @property
    def name(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def environment(self) -> str | None: ...
    @property
    def state(self) -> str: ...
    @property
    def extensions(self) -> dict[str, str]: ...
    @property
    def facts(self) -> dict[str, Any]: ...


Test = Callable[[Candidate], bool]


def matcher(term: Term) -> Test:
    """What decides about one node after another. Everything that can be prepared is prepared once."""
    if isinstance(term, Named):
        return _named(term)
    if isinstance(term, And):
        every = [matcher(one) for one in term.terms]
        return lambda node: all(test(node) for test in every)
    if isinstance(term, Or):
        return _either(term)
    if isinstance(term, Not):
        inner = matcher(term.term)
        return lambda node: not inner(node)
    return _on_field(term)


def _named(term: Named) -> Test:
    if not term.is_glob:
        return lambda node: node.name == term.text
    return lambda node: matches(term.text, node.name)


def _either(term: Or) -> Test:
    """Plain names are looked up together: there may be thousands."""
    names = frozenset(one.text for one in term.terms if isinstance(one, Named) and not one.is_glob)
    others = [matcher(one) for one in term.terms if not isinstance(one, Named) or one.is_glob]
    return lambda node: node.name in names or any(test(node) for test in others)


def _on_field(term: Comparison | Membership | Existence) -> Test:
    look_up = _look_up(term.field)
    if isinstance(term, Existence):
        return lambda node: look_up(node) is not _ABSENT
    if isinstance(term, Membership):
        accepts = [_equal(one.value) for one in term.values]
        return lambda node: any(_any_element(look_up(node), test) for test in accepts)
    test = _comparing(term.sign, term.value)
    if term.sign not in ("!=", "!~"):
        return lambda node: _any_element(look_up(node), test)

    def differs(node: Candidate) -> bool:
        value = look_up(node)
        return value is not _ABSENT and value is not None and not _any_element(value, test)

    return differs


def _any_element(value: Any, test: Callable[[Any], bool]) -> bool:
    """A list fits if one of its elements does. Objects and what is absent fit nothing."""
    if isinstance(value, list):
        return any(test(one) for one in value[:MAX_ELEMENTS] if not isinstance(one, dict | list) and one is not None)
    return value is not _ABSENT and value is not None and not isinstance(value, dict) and test(value)


def _look_up(field: Field) -> Callable[[Candidate], Any]:
    first, *rest = field.parts
    if first == "facts":
        path = ".".join(rest)
        return lambda node: _fact(node.facts, path)
    if first == "trusted" and rest[0] == "extensions":
        return lambda node: node.extensions.get(rest[1], _ABSENT)
    if first == "trusted":
        return lambda node: _of_name(node.name, rest[0])
    return lambda node: _given(getattr(node, first))


def _fact(facts: dict[str, Any], path: str) -> Any:
    try:
        return paths.find(facts, path)
    except LookupError:
        return _ABSENT


def _of_name(name: str, part: str) -> Any:
    hostname, _, domain = name.partition(".")
    return {"certname": name, "hostname": hostname, "domain": domain or _ABSENT}[part]


def _given(value: str | None) -> Any:
    return _ABSENT if value is None else value


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
