"""Compiles the terms of a query into predicates over nodes, resources or reports.

A field without a value matches no comparison, not even `!=`, so that a query does not select nodes that have reported nothing. `not`
negates the whole term that follows it.
"""

import re
from collections.abc import Callable
from typing import Any, Protocol

from precast.services.query import issues
from precast.wire.query.automata import StepMeter, TooManySteps
from precast.wire.query.patterns import Pattern
from precast.wire.query.targets import (
    And,
    Comparison,
    Existence,
    HasResource,
    Membership,
    NodeName,
    Not,
    Or,
    ResourceReference,
    Term,
    Value,
)

# A pattern is matched against this much of a text; a comparison considers this many elements of a list.
MAX_TEXT_CHARS = 4096
MAX_ELEMENTS = 1000
# States that all patterns of a query may visit: about a tenth of a second. Ordinary patterns visit some thousand for a whole fleet,
# because transitions are cached.
MAX_PATTERN_STEPS = 250_000
ABSENT = object()
_VERSION = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})*")


Predicate = Callable[[Any], bool]


class FieldReader(Protocol):
    """How the fields of one kind of item are read: nodes, resources or reports."""

    def reader_for(self, parts: tuple[str, ...]) -> Callable[[Any], Any]:
        """Return a function that reads the field with these parts from an item; it returns `ABSENT` if there is no value."""

    def standalone_predicate(self, term: NodeName | ResourceReference | HasResource) -> Predicate:
        """Compile a term that is not a comparison of a field."""


def compile_predicate(term: Term, reader: FieldReader) -> Predicate:
    """Compile a term into a predicate over items. All preparation happens here, once. The predicate raises InputError QUERY-007."""
    return _compile(term, reader, StepMeter(MAX_PATTERN_STEPS))


def _compile(term: Term, reader: FieldReader, meter: StepMeter) -> Predicate:
    if isinstance(term, NodeName | ResourceReference | HasResource):
        return reader.standalone_predicate(term)
    if isinstance(term, And):
        tests = [_compile(operand, reader, meter) for operand in term.terms]
        return lambda item: all(test(item) for test in tests)
    if isinstance(term, Or):
        return _compile_or(term, reader, meter)
    if isinstance(term, Not):
        negated = _compile(term.term, reader, meter)
        return lambda item: not negated(item)
    return _compile_field_test(term, reader.reader_for(term.field.parts), meter)


def _compile_or(term: Or, reader: FieldReader, meter: StepMeter) -> Predicate:
    """Plain names are combined into one set, because there may be thousands."""
    names = frozenset(operand.text for operand in term.terms if isinstance(operand, NodeName) and not operand.is_glob)
    others = [
        _compile(operand, reader, meter)
        for operand in term.terms
        if not isinstance(operand, NodeName) or operand.is_glob
    ]
    if not names:
        return lambda item: any(test(item) for test in others)
    return lambda item: item.name in names or any(test(item) for test in others)


def _compile_field_test(
    term: Comparison | Membership | Existence, read: Callable[[Any], Any], meter: StepMeter
) -> Predicate:
    if isinstance(term, Existence):
        return lambda item: read(item) is not ABSENT
    if isinstance(term, Membership):
        accepts = [_equal(accepted.value) for accepted in term.values]
        return lambda item: any(_is_any_element(read(item), test) for test in accepts)
    test = _comparison(term.sign, term.value, meter)
    if term.sign not in ("!=", "!~"):
        return lambda item: _is_any_element(read(item), test)

    def differs(item: Any) -> bool:
        value = read(item)
        return value is not ABSENT and value is not None and not _is_any_element(value, test)

    return differs


def _is_any_element(value: Any, test: Callable[[Any], bool]) -> bool:
    """Whether a value, or an element of a list, passes the test. Objects and absent values never do."""
    if isinstance(value, list):
        elements = (part for part in value[:MAX_ELEMENTS] if not isinstance(part, dict | list) and part is not None)
        return any(map(test, elements))
    return value is not ABSENT and value is not None and not isinstance(value, dict) and test(value)


def _comparison(sign: str, value: Value, meter: StepMeter) -> Callable[[Any], bool]:
    if sign in ("=", "!="):
        return _equal(value.value)
    if sign in ("~", "!~"):
        return _pattern_test(Pattern(str(value.value), meter))
    return _ordered(sign, value.value)


def _pattern_test(pattern: Pattern) -> Callable[[Any], bool]:
    def test(actual: Any) -> bool:
        try:
            return pattern.matches(_text(actual)[:MAX_TEXT_CHARS])
        except TooManySteps:
            raise issues.PATTERN_TOO_COSTLY.error(pattern=pattern.text[:80]) from None

    return test


def _equal(wanted: Any) -> Callable[[Any], bool]:
    """A boolean equals itself, a number also a text that is written like it, a text the same text."""
    if isinstance(wanted, bool):
        return lambda actual: actual is wanted
    if isinstance(wanted, int | float):
        return lambda actual: _number(actual) == wanted
    return lambda actual: isinstance(actual, str) and actual == wanted


def _ordered(sign: str, wanted: Any) -> Callable[[Any], bool]:
    """Compare numbers; or, if the query gives a quoted text, the parts of a version such as 12.10."""
    read = _version if isinstance(wanted, str) else _number
    limit: Any = read(wanted)
    orders: dict[str, Callable[[Any], bool]] = {
        ">": lambda value: value > limit,
        "<": lambda value: value < limit,
        ">=": lambda value: value >= limit,
        "<=": lambda value: value <= limit,
    }
    is_ordered = orders[sign]
    return lambda actual: limit is not None and (value := read(actual)) is not None and is_ordered(value)


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
