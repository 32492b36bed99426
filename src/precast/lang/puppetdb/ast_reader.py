"""Reads PuppetDB's AST into a query, and refuses what servers do not answer."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from precast.lang.issues import puppetdb as issues
from precast.lang.puppetdb.pql import split_path
from precast.lang.puppetdb.queries import (
    COLUMNS,
    CONDITIONS,
    FUNCTIONS,
    NESTED,
    And,
    Column,
    Comparison,
    Field,
    InQuery,
    IsNull,
    Not,
    OneOf,
    Or,
    Order,
    Query,
    Term,
)
from precast.wire.query.patterns import BadPattern, Pattern

MAX_TERMS: Final = 2_000
MAX_DEPTH: Final = 60
# Older queries name the entity of a subquery like this.
_SELECT: Final = "select_"
_ORDERED: Final = ("<", "<=", ">", ">=")


def read_ast(data: Any) -> Query:
    """Read a whole query. Raises LANG-782 and LANG-783."""
    return _Reader().query(data)


class _Reader:
    """Reads one query, and counts its terms."""

    def __init__(self) -> None:
        self._terms = 0
        self._depth = 0

    def query(self, data: Any) -> Query:
        match data:
            case ["from", str(entity), *rest]:
                return self._from(entity, rest)
        raise _bad('it must begin with ["from", entity, …]')

    def _from(self, entity: str, rest: Sequence[Any]) -> Query:
        _check_entity(entity)
        clauses = [part for part in rest if _is_clause(part)]
        others = [part for part in rest if not _is_clause(part)]
        if len(others) > 1:
            raise _bad(f"{entity} has more than one condition")
        query = self._extract(entity, others[0]) if others else Query(entity)
        for clause in clauses:
            query = _with_clause(query, clause)
        _check_columns(query)
        return query

    def _extract(self, entity: str, data: Any) -> Query:
        match data:
            case ["extract", columns, *rest]:
                groups = [part for part in rest if _is_list_of(part, "group_by")]
                conditions = [part for part in rest if not _is_list_of(part, "group_by")]
                if len(groups) > 1 or len(conditions) > 1:
                    raise _bad("extract has more than one condition")
                group_by = tuple(_column(entity, field).field for group in groups for field in group[1:])
                chosen = (
                    columns if isinstance(columns, list | tuple) and not _is_list_of(columns, "function") else [columns]
                )
                where = self._term(entity, conditions[0]) if conditions else None
                return Query(entity, where, tuple(_column(entity, column) for column in chosen), group_by)
        return Query(entity, self._term(entity, data))

    def _term(self, entity: str, data: Any) -> Term:
        self._terms += 1
        self._depth += 1
        if self._terms > MAX_TERMS or self._depth > MAX_DEPTH:
            raise _bad(f"it has more than {MAX_TERMS} conditions, or they are nested deeper than {MAX_DEPTH} levels")
        term = self._read_term(entity, data)
        self._depth -= 1
        return term

    def _read_term(self, entity: str, data: Any) -> Term:
        match data:
            case ["and" | "or" as sign, _, *_]:
                terms = tuple(self._term(entity, part) for part in data[1:])
                return terms[0] if len(terms) == 1 else And(terms) if sign == "and" else Or(terms)
            case ["not", part]:
                return Not(self._term(entity, part))
            case ["null?", field, bool(is_null)]:
                missing = IsNull(_field(entity, field))
                return missing if is_null else Not(missing)
            case ["in", fields, where]:
                return self._in(entity, fields, where)
            case ["subquery", str(other), *conditions] if len(conditions) <= 1:
                return self._subquery(entity, other, conditions)
            case ["=", ["node", "active"], bool(is_active)]:
                active = IsNull(("certname",))  # of a row that always has one: all known nodes are active
                return Not(active) if is_active else active
            case ["=" | "~" | "<" | "<=" | ">" | ">=" as sign, field, value]:
                return _comparison(str(sign), _field(entity, field), value)
            case [str(sign), *_]:
                raise issues.NOT_SUPPORTED.error(
                    what=f"the operator {sign}", known="=, !=, <, <=, >, >=, ~, in, is null, and, or, not"
                )
        raise _bad(f"{_shown(data)} is not a condition")

    def _in(self, entity: str, fields: Any, where: Any) -> Term:
        several = isinstance(fields, list | tuple) and not (len(fields) == 2 and fields[0] in ("parameter", "fact"))
        names = tuple(_field(entity, field) for field in (fields if several else [fields]))
        match where:
            case ["array", list(values) | tuple(values)]:
                rows = tuple(_values(value, len(names)) for value in values)
                return OneOf(names, rows)
            case ["from", *_]:
                query = self.query(where)
            case ["extract", columns, [str(select), *condition]] if select.startswith(_SELECT):
                other = select.removeprefix(_SELECT)
                query = self.query(["from", other, ["extract", columns, *condition]])
            case _:
                raise _bad(f"{_shown(where)} is not a query")
        if len(query.columns) != len(names):
            raise _bad(f"{len(names)} fields cannot be in {len(query.columns)} columns of {query.entity}")
        return InQuery(names, query)

    def _subquery(self, entity: str, other: str, conditions: Sequence[Any]) -> Term:
        """Rows of another entity about the same node; of a fact and its contents, about the same fact."""
        _check_entity(other)
        names = ("certname", "name") if {entity, other} == {"facts", "fact_contents"} else ("certname",)
        fields: tuple[Field, ...] = tuple((name,) for name in names)
        where = self._term(other, conditions[0]) if conditions else None
        return InQuery(fields, Query(other, where, tuple(Column(field) for field in fields)))


def _comparison(sign: str, field: Field, value: Any) -> Term:
    if isinstance(value, list | tuple | dict) or value is None:
        raise _bad(
            f"{'.'.join(map(str, field))} is compared with {_shown(value)}, which is not a string, number or Boolean"
        )
    if sign in _ORDERED and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise _bad(f"{sign} compares numbers, not {_shown(value)}")
    if sign == "~":
        try:
            Pattern(str(value))
        except BadPattern as bad:
            raise _bad(f"in the pattern {value} {bad.reason}") from None
    return Comparison(sign, field, value)


def _with_clause(query: Query, clause: Sequence[Any]) -> Query:
    match clause:
        case ["limit" | "offset" as name, int(count)] if not isinstance(count, bool) and count >= 0:
            return msgspec.structs.replace(query, **{str(name): count})
        case ["order_by", list(fields) | tuple(fields)]:
            return msgspec.structs.replace(query, order_by=tuple(_order(query.entity, field) for field in fields))
    raise _bad(f"{_shown(clause)} is not a clause")


def _order(entity: str, data: Any) -> Order:
    match data:
        case [field, "asc" | "desc" as direction]:
            return Order(_order(entity, field).column, direction == "desc")
        case str() if data in FUNCTIONS:
            return Order(Column((), data))
        case ["function", *_] | str():
            return Order(_column(entity, data))
    raise _bad(f"{_shown(data)} is not a column to sort by")


def _check_columns(query: Query) -> None:
    """A query that groups has only functions and the columns of the group; it is sorted by what it has."""
    if query.group_by or any(column.function for column in query.columns):
        alone = [column.name for column in query.columns if not column.function and column.field not in query.group_by]
        if alone:
            raise _bad(f"{', '.join(alone)} must be in `group by`")
        names = {column.name for column in query.columns}
        for order in query.order_by:
            if order.column.name not in names:
                raise _bad(f"it is sorted by {order.column.name}, which is not a column of the result")


def _column(entity: str, data: Any) -> Column:
    match data:
        case ["function", str(function), *fields]:
            if function not in FUNCTIONS:
                raise issues.NOT_SUPPORTED.error(what=f"the function {function}", known=", ".join(FUNCTIONS))
            if len(fields) > 1 or (function != "count" and not fields):
                raise _bad(f"{function} needs one field")
            return Column(_plain_field(entity, fields[0]) if fields else (), function)
    return Column(_plain_field(entity, data))


def _plain_field(entity: str, data: Any) -> Field:
    field = _field(entity, data)
    if field[0] not in COLUMNS[entity]:
        raise issues.NOT_SUPPORTED.error(what=f"the column {field[0]} of {entity}", known=", ".join(COLUMNS[entity]))
    return field


def _field(entity: str, data: Any) -> Field:
    match data:
        case ["parameter", str(name)] if entity == "resources":
            return ("parameters", name)
        case ["fact", str(name)] if entity == "nodes":
            return ("fact", name)
        case str():
            parts = split_path(data)
            if parts and data.startswith(str(parts[0])) and _is_known(entity, parts):
                return parts
            known = ", ".join((*COLUMNS[entity], *CONDITIONS.get(entity, ())))
            raise issues.NOT_SUPPORTED.error(what=f"the field {data[:80]} of {entity}", known=known)
    raise _bad(f"{_shown(data)} is not a field of {entity}")


def _is_known(entity: str, parts: Field) -> bool:
    if len(parts) > 1:
        return parts[0] in NESTED[entity]
    return parts[0] in COLUMNS[entity] or (parts[0] == "tag" and entity == "resources")


def _check_entity(entity: str) -> None:
    if entity not in COLUMNS:
        raise issues.NOT_SUPPORTED.error(what=f"the entity {entity[:80]}", known=", ".join(COLUMNS))


def _values(data: Any, count: int) -> tuple[Any, ...]:
    row = tuple(data) if isinstance(data, list | tuple) else (data,)
    if len(row) != count or any(isinstance(value, list | tuple | dict) or value is None for value in row):
        raise _bad(
            f"{_shown(data)} is not a value of {count} fields" if count > 1 else f"{_shown(data)} is not a value"
        )
    return row


def _is_clause(data: Any) -> bool:
    return any(_is_list_of(data, name) for name in ("order_by", "limit", "offset"))


def _is_list_of(data: Any, name: str) -> bool:
    return isinstance(data, list | tuple) and bool(data) and data[0] == name


def _shown(data: Any) -> str:
    return str(data)[:80]


def _bad(reason: str) -> Exception:
    return issues.BAD_QUERY.error(reason=reason)
