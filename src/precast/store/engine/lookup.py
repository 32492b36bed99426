"""Look-ups of a row by its key, for rows that are read again and again.

A look-up has a statement for one key, which is all that a database in our own process needs, and one for many keys, so that
callers can share a round trip.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from precast.store.engine.query import Query, Row, Rows, Statement, Transaction, json_list

T = TypeVar("T")


class Lookup(Generic[T]):
    """Finds a row by its key and converts it. Each query has one parameter; each row of `many` begins with its key."""

    def __init__(self, single: Query, many: Query, make: Callable[[Row], T]) -> None:
        self._single, (self._key,) = single, single.parameters
        self._many, (self._keys,) = many, many.parameters
        self._make = make

    def statement(self, key: str) -> Statement:
        return Statement(self._single, {self._key: key})

    def convert(self, rows: Rows) -> T | None:
        """Convert the rows of that statement; None if there are none."""
        return self._make(rows[0]) if rows else None

    def find(self, key: str) -> Transaction[T | None]:
        return self.convert((yield self.statement(key)))

    def find_each(self, keys: Sequence[str]) -> Transaction[Sequence[T | None]]:
        """Find the row of each key, in the order of the keys."""
        by_key = {row[0]: self._make(row) for row in (yield Statement(self._many, {self._keys: json_list(keys)}))}
        return [by_key.get(key) for key in keys]
