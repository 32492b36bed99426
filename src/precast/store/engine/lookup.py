"""A row by its key, for what is asked for again and again.

There is a statement for one key, which is all that a database in our own process needs, and one for many, for those who share a
round trip.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from precast.store.engine.query import Query, Row, Rows, Statement, Transaction, json_list

T = TypeVar("T")


class Lookup(Generic[T]):
    """Finds a row by its key and makes something of it. Each statement has one parameter; rows of many begin with their key."""

    def __init__(self, one: Query, many: Query, make: Callable[[Row], T]) -> None:
        self._one, (self._key,) = one, one.parameters
        self._many, (self._keys,) = many, many.parameters
        self._make = make

    def statement(self, key: str) -> Statement:
        return Statement(self._one, {self._key: key})

    def take(self, rows: Rows) -> T | None:
        """What the rows of that statement are."""
        return self._make(rows[0]) if rows else None

    def finding(self, key: str) -> Transaction[T | None]:
        return self.take((yield self.statement(key)))

    def finding_each(self, keys: Sequence[str]) -> Transaction[Sequence[T | None]]:
        """For each of these keys, in their order."""
        found = {row[0]: self._make(row) for row in (yield Statement(self._many, {self._keys: json_list(keys)}))}
        return [found.get(key) for key in keys]
