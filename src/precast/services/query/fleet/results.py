"""Makes the result of a query over the fleet from the rows that match: groups, order, columns, limit.

The order is total: rows that a query does not sort are in the order of node, type, title, name and path. So equal data gives equal
results.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from precast.base import canonical
from precast.lang.puppetdb.queries import COLUMNS, Column, Order, Query
from precast.services.query.fleet.conditions import Row, key_of, read_field


def make_result(query: Query, rows: Iterable[Row]) -> list[Row]:
    """The rows of the result, with the columns that the query names."""
    is_grouped = bool(query.group_by) or any(column.function for column in query.columns)
    found = _group(query, list(rows)) if is_grouped else sorted(rows, key=_identity)
    for order in reversed(query.order_by):
        found.sort(key=_by(order, is_grouped), reverse=order.is_descending)
    end = None if query.limit is None else query.offset + query.limit
    page = found[query.offset : end]
    return page if is_grouped else [project(query, row) for row in page]


def project(query: Query, row: Row) -> Row:
    """A row with the columns of the result."""
    if not query.columns:
        return {name: row[name] for name in COLUMNS[query.entity]}
    return {column.name: read_field(row, column.field) for column in query.columns}


def _identity(row: Row) -> tuple[Any, ...]:
    """What tells the rows of an entity apart."""
    return row["certname"], row.get("type"), row.get("title"), row.get("name"), key_of(tuple(row.get("path", ())))


def _by(order: Order, is_grouped: bool) -> Callable[[Row], Any]:
    """The sort key of a column: numbers before texts before other values before none."""
    path = (order.column.name,) if is_grouped else order.column.field

    def key(row: Row) -> tuple[int, Any]:
        value = read_field(row, path)
        if isinstance(value, int | float):
            return 0, value
        if isinstance(value, str):
            return 1, value
        return (3, 0) if value is None else (2, canonical.encode(value))

    return key


def _group(query: Query, rows: list[Row]) -> list[Row]:
    groups: dict[bytes, list[Row]] = {} if query.group_by else {b"": []}
    for row in rows:
        key = key_of(tuple(read_field(row, field) for field in query.group_by)) if query.group_by else b""
        groups.setdefault(key, []).append(row)
    return [{column.name: _value(column, members) for column in query.columns} for _, members in sorted(groups.items())]


def _value(column: Column, members: list[Row]) -> Any:
    """A column of a group: a function over its members, or what they have in common."""
    if not column.function:
        return read_field(members[0], column.field)
    values = [read_field(row, column.field) for row in members] if column.field else members
    present = [value for value in values if value is not None]
    if column.function == "count":
        return len(present)
    numbers = [value for value in present if isinstance(value, int | float) and not isinstance(value, bool)]
    return _FUNCTIONS[column.function](numbers) if numbers else None


_FUNCTIONS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "avg": lambda numbers: sum(numbers) / len(numbers),
    "max": max,
    "min": min,
    "sum": sum,
}
