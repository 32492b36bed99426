"""Compiles the condition of a query over the fleet into a test of rows.

Values compare as in PuppetDB: strict in type and case. A field without a value equals nothing, so `!=` is true for it. `tag` is any of the
tags of a resource, `fact` a fact of a node. Patterns match in linear time, and all patterns of a query share one allowance of steps.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from precast.base import canonical
from precast.lang.puppetdb.queries import And, Comparison, Field, InQuery, IsNull, Not, OneOf, Or, Term
from precast.services.query.predicates import MAX_PATTERN_STEPS, MAX_TEXT_CHARS
from precast.wire.query.automata import StepMeter, TooManySteps
from precast.wire.query.patterns import Pattern

Row = dict[str, Any]
Test = Callable[[Row], bool]
# The results of subqueries: by their term, the keys of their rows.
Subresults = Mapping[InQuery, frozenset[bytes]]


class TooCostly(Exception):
    """A query exceeds a limit; the text is the end of a sentence about it."""


def compile_condition(term: Term | None, subresults: Subresults) -> Test:
    """A test of rows. It raises TooCostly."""
    return _always if term is None else _compile(term, subresults, StepMeter(MAX_PATTERN_STEPS))


def read_field(row: Row, field: Field) -> Any:
    """The value of a field; None if the row has none there."""
    value: Any = row
    for part in field:
        if isinstance(value, dict):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def key_of(values: tuple[Any, ...]) -> bytes:
    """The key under which equal values are found."""
    return canonical.encode(values)


def _compile(term: Term, subresults: Subresults, meter: StepMeter) -> Test:
    match term:
        case And(terms):
            tests = [_compile(part, subresults, meter) for part in terms]
            return lambda row: all(test(row) for test in tests)
        case Or(terms):
            tests = [_compile(part, subresults, meter) for part in terms]
            return lambda row: any(test(row) for test in tests)
        case Not(part):
            negated = _compile(part, subresults, meter)
            return lambda row: not negated(row)
        case IsNull(field):
            return lambda row: read_field(row, field) is None
        case OneOf(fields, values):
            return _is_in(fields, frozenset(map(key_of, values)))
        case InQuery(fields):
            return _is_in(fields, subresults[term])
        case Comparison(sign, field, value):
            return _any_tag(field, _comparison(sign, value, meter))


def _is_in(fields: tuple[Field, ...], keys: frozenset[bytes]) -> Test:
    if fields == (("tag",),):
        return lambda row: any(key_of((tag,)) in keys for tag in row["tags"])
    return lambda row: key_of(tuple(read_field(row, field) for field in fields)) in keys


def _any_tag(field: Field, test: Callable[[Any], bool]) -> Test:
    if field == ("tag",):
        return lambda row: any(map(test, row["tags"]))
    return lambda row: test(read_field(row, field))


def _comparison(sign: str, wanted: Any, meter: StepMeter) -> Callable[[Any], bool]:
    if sign == "=":
        return lambda value: value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
    if sign == "~":
        return _pattern(Pattern(str(wanted), meter))
    order = _ORDERS[sign]
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and order(value, wanted)


_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
}


def _pattern(pattern: Pattern) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        if not isinstance(value, str):
            return False
        try:
            return pattern.matches(value[:MAX_TEXT_CHARS])
        except TooManySteps:
            raise TooCostly(f"the pattern {pattern.text[:80]} takes too long") from None

    return test


def _always(row: Row) -> bool:
    return True
