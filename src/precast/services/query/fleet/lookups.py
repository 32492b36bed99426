"""What a query over the fleet can be narrowed to before its rows are read: facts by name, resources by what is indexed.

A lookup finds all rows that match, and perhaps others: each row is tested afterwards.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from precast.base.spans import Span
from precast.lang.puppetdb import queries
from precast.lang.puppetdb.queries import Comparison, Field, InQuery, IsNull, Not, OneOf, Query
from precast.wire.query import targets

# Names that can be part of a path of facts.
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_NOWHERE: Final = Span(0, 0)


def find_subqueries(term: "queries.Term | None") -> Iterator[InQuery]:
    """The subqueries of a condition, but not those inside them."""
    match term:
        case queries.And(terms) | queries.Or(terms):
            for part in terms:
                yield from find_subqueries(part)
        case Not(part):
            yield from find_subqueries(part)
        case InQuery():
            yield term


def find_fact_names(query: Query) -> frozenset[str] | None:
    """The top-level facts that a query reads; None for all of them."""
    match query.entity:
        case "nodes":
            names = {str(field[1]) for field in _fields(query) if field[0] == "fact"}
        case "inventory":
            used = [field for field in _fields(query) if field[0] == "facts"]
            if not query.columns or any(len(field) < 2 for field in used):
                return None
            names = {str(field[1]) for field in used}
        case "facts" | "fact_contents":
            required = _required(query.where, ("name",))
            if required is None:
                return None
            names = {str(name) for name in required}
        case _:
            names = set()
    return frozenset(names) if all(map(_PLAIN_NAME.fullmatch, names)) else None


def plan_resource_term(where: "queries.Term | None") -> targets.Term | None:
    """A condition on resources, in the language of targets, that every matching resource meets; None for no condition."""
    terms = [_target(part) for part in _conjuncts(where)]
    found = tuple(term for term in terms if term is not None)
    if not found:
        return None
    return found[0] if len(found) == 1 else targets.And(_NOWHERE, found)


def _target(term: "queries.Term") -> targets.Term | None:
    match term:
        case Comparison("=", ("type" | "title" | "tag" as name,), str(value)):
            return _equal((str(name),), value.lower() if name == "tag" else value)
        case Comparison("=", ("parameters", str(name)), value) if _PLAIN_NAME.fullmatch(name):
            return _equal(("parameters", name), value)
        case queries.Or(terms):
            found = [_target(part) for part in terms]
            known = tuple(part for part in found if part is not None)
            return targets.Or(_NOWHERE, known) if len(known) == len(found) else None
    return None


def _equal(parts: tuple[str, ...], value: Any) -> targets.Comparison:
    return targets.Comparison(_NOWHERE, targets.Field(_NOWHERE, parts), "=", targets.Value(_NOWHERE, value))


def _conjuncts(term: "queries.Term | None") -> "Iterator[queries.Term]":
    if isinstance(term, queries.And):
        for part in term.terms:
            yield from _conjuncts(part)
    elif term is not None:
        yield term


def _required(term: "queries.Term | None", field: Field) -> frozenset[Any] | None:
    """The values of which a matching row has one; None if it may have any."""
    match term:
        case Comparison("=", name, value) if name == field:
            return frozenset((value,))
        case OneOf(names, rows) if names == (field,):
            return frozenset(value for (value,) in rows)
        case queries.And(terms):
            found = [_required(part, field) for part in terms]
            return min((values for values in found if values is not None), key=len, default=None)
        case queries.Or(terms):
            found = [_required(part, field) for part in terms]
            if None not in found:
                return frozenset(value for values in found for value in values or ())
    return None


def _fields(query: Query) -> Iterator[Field]:
    """Every field that a query names, but for those of its subqueries."""
    yield from (column.field for column in query.columns if column.field)
    yield from query.group_by
    yield from (order.column.field for order in query.order_by if order.column.field)
    yield from _fields_of(query.where)


def _fields_of(term: "queries.Term | None") -> Iterator[Field]:
    match term:
        case queries.And(terms) | queries.Or(terms):
            for part in terms:
                yield from _fields_of(part)
        case Not(part):
            yield from _fields_of(part)
        case Comparison(_, field) | IsNull(field):
            yield field
        case OneOf(fields) | InQuery(fields):
            yield from fields
