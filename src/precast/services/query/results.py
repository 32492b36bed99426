"""Builds the results of queries: pages of rows with named columns, or counts of groups; encodes cursors."""

import base64
import binascii
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from precast.base.clock import Clock
from precast.services.query import issues
from precast.services.query.predicates import ABSENT
from precast.wire.query.bodies import QueryAnswer
from precast.wire.query.fields import Vocabulary
from precast.wire.query.parser import parse_field

MAX_GROUPS = 1000
MAX_COLUMNS = 50
# A page that is not full after this time is returned as it is, with a cursor.
PAGE_S = 5.0
# The time limit of counting groups.
COUNT_S = 20.0

Item = TypeVar("Item")
Column = Callable[[Item], Any]
T = TypeVar("T")


async def read_page(
    columns: dict[str, Column[Item]], items: AsyncIterator[tuple[Item, str]], limit: int, clock: Clock
) -> QueryAnswer:
    """Build rows from items, each of which comes with the cursor after it, until the page is full or the time is up."""
    rows: list[list[Any]] = []
    started_s = clock.monotonic_s()
    async for item, after in items:
        rows.append([plain_value(column(item)) for column in columns.values()])
        if len(rows) == limit or clock.monotonic_s() - started_s > PAGE_S:
            return QueryAnswer(list(columns), rows, after)
    return QueryAnswer(list(columns), rows)


async def count_groups(
    names: Sequence[str], groups: AsyncIterator[tuple[tuple[Any, ...], int]], clock: Clock
) -> QueryAnswer:
    """Count how often each combination of values occurs, the most frequent first. Raises InputError QUERY-004, QUERY-005."""
    counts: dict[bytes, list[Any]] = {}
    started_s = clock.monotonic_s()
    async for values, count in groups:
        row = [plain_value(value) for value in values]
        counts.setdefault(msgspec.json.encode(row), [*row, 0])[-1] += count
        if len(counts) > MAX_GROUPS:
            raise issues.TOO_MANY_GROUPS.error(limit=MAX_GROUPS)
        if clock.monotonic_s() - started_s > COUNT_S:
            raise issues.TOO_SLOW.error(seconds=COUNT_S)
    if not names and not counts:
        return QueryAnswer(["count"], [[0]])
    rows = [row for _, row in sorted(counts.items(), key=lambda pair: (-pair[1][-1], pair[0]))]
    return QueryAnswer([*names, "count"], rows)


def build_columns(
    names: Sequence[str], vocabulary: Vocabulary, reader_for: Callable[[tuple[str, ...]], Column[Item]]
) -> dict[str, Column[Item]]:
    """Build the columns with these names. Raises InputError TARGET-002, TARGET-004."""
    return {name: reader_for(parse_field(name, vocabulary).parts) for name in names[:MAX_COLUMNS]}


def plain_value(value: Any) -> Any:
    """Convert a value to its form in the JSON response."""
    if value is ABSENT:
        return None
    return value.isoformat() if isinstance(value, datetime) else value


def encode_cursor(cursor: object) -> str:
    """Encode the cursor of the next page as one opaque word."""
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def decode_cursor(text: str, kind: type[T]) -> T:
    """Decode a cursor. Raises InputError QUERY-002."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=kind)
    except (msgspec.MsgspecError, binascii.Error, ValueError, UnicodeDecodeError):
        raise issues.BAD_CURSOR.error() from None
