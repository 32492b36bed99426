"""The tables that answer queries: columns by name, rows a page at a time, or how often values occur."""

import base64
import binascii
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from precast.base.clock import Clock
from precast.services.query import issues
from precast.services.query.matching import ABSENT
from precast.wire.query.bodies import QueryAnswer
from precast.wire.query.fields import Vocabulary
from precast.wire.query.parser import parse_field

MAX_GROUPS = 1000
MAX_COLUMNS = 50
# A page that is not full by then is answered as it is, with the place to go on from.
PAGE_S = 5.0
# How long all of what is counted may take.
COUNT_S = 20.0

Thing = TypeVar("Thing")
Column = Callable[[Thing], Any]
T = TypeVar("T")


async def page(
    columns: dict[str, Column[Thing]], found: AsyncIterator[tuple[Thing, str]], limit: int, clock: Clock
) -> QueryAnswer:
    """The rows of what is found, each of which comes with the place after it, until the page is full or time is up."""
    rows: list[list[Any]] = []
    started_s = clock.monotonic_s()
    async for thing, after in found:
        rows.append([shown(column(thing)) for column in columns.values()])
        if len(rows) == limit or clock.monotonic_s() - started_s > PAGE_S:
            return QueryAnswer(list(columns), rows, after)
    return QueryAnswer(list(columns), rows)


async def groups(names: Sequence[str], found: AsyncIterator[tuple[tuple[Any, ...], int]], clock: Clock) -> QueryAnswer:
    """How often each combination of values occurs, the most frequent first. Raises InputError QUERY-004, QUERY-005."""
    counts: dict[bytes, list[Any]] = {}
    started_s = clock.monotonic_s()
    async for values, count in found:
        row = [shown(one) for one in values]
        counts.setdefault(msgspec.json.encode(row), [*row, 0])[-1] += count
        if len(counts) > MAX_GROUPS:
            raise issues.TOO_MANY_GROUPS.error(limit=MAX_GROUPS)
        if clock.monotonic_s() - started_s > COUNT_S:
            raise issues.TOO_SLOW.error(seconds=COUNT_S)
    if not names and not counts:
        return QueryAnswer(["count"], [[0]])
    rows = [row for _, row in sorted(counts.items(), key=lambda pair: (-pair[1][-1], pair[0]))]
    return QueryAnswer([*names, "count"], rows)


def columns_of(
    names: Sequence[str], vocabulary: Vocabulary, reading: Callable[[tuple[str, ...]], Column[Thing]]
) -> dict[str, Column[Thing]]:
    """The columns of these names. Raises InputError TARGET-002, TARGET-004."""
    return {name: reading(parse_field(name, vocabulary).parts) for name in names[:MAX_COLUMNS]}


def shown(value: Any) -> Any:
    """A value as the answer has it."""
    if value is ABSENT:
        return None
    return value.isoformat() if isinstance(value, datetime) else value


def write_place(place: object) -> str:
    """A place to go on from, as one word."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read_place(text: str, kind: type[T]) -> T:
    """The same again. Raises InputError QUERY-002."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=kind)
    except (msgspec.MsgspecError, binascii.Error, ValueError, UnicodeDecodeError):
        raise issues.BAD_CURSOR.error() from None
