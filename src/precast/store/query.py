"""SQL as named values, and transactions as generators.

A query has a name and a text in the subset of SQL that SQLite and PostgreSQL share; where they must differ, PostgreSQL gets a
text of its own. Parameters are written `:name` in both.

A *unit* is what happens in one transaction: a generator that yields statements and is sent their rows. It knows nothing of
threads, event loops or drivers, so one text serves the thread that owns SQLite and the coroutine that talks to PostgreSQL,
units can be joined with `yield from`, and a unit can be run again from its start when the group it was in is rolled back. For
that it must change nothing but the database.
"""

import enum
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

# A colon that begins a parameter: not the second of `::`, and followed by a name.
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)\b")

# A row unpacks like a tuple; what its columns are is between the query and the one module that uses it.
Row = Any
Rows = Sequence[Row]


class Dialect(enum.Enum):
    SQLITE = "SQLite"
    POSTGRESQL = "PostgreSQL"


class Wake(NamedTuple):
    """Yielded by a unit: once it is committed, whoever listens to the topic is woken."""

    topic: str


class Query:
    """One named statement. Calling it binds its parameters.

    `limit_s` is for statements that may take longer than others, on a database that limits them.
    """

    def __init__(self, name: str, sql: str, *, postgresql: str | None = None, limit_s: float | None = None) -> None:
        self.name = name
        self.limit_s = limit_s
        self.sqlite = sql
        self.parameters = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
        numbered = {parameter: f"${at}" for at, parameter in enumerate(self.parameters, start=1)}
        self.postgresql = _PARAMETER.sub(lambda match: numbered[match[1]], sql if postgresql is None else postgresql)
        self._expected = frozenset(self.parameters)

    def __call__(self, **values: object) -> "Statement":
        self._verify(values)
        return Statement(self, (values,), is_many=False)

    def many(self, rows: Iterable[Mapping[str, object]]) -> "Statement":
        """The same statement for each of these rows, sent together; it returns no rows."""
        batch = tuple(rows)
        for values in batch:
            self._verify(values)
        return Statement(self, batch, is_many=True)

    def _verify(self, values: Mapping[str, object]) -> None:
        if values.keys() != self._expected:
            raise TypeError(f"{self.name} takes {sorted(self._expected)}, got {sorted(values)}")


class Statement(NamedTuple):
    """A query with its values."""

    query: Query
    rows: tuple[Mapping[str, object], ...]
    is_many: bool

    def positional(self) -> list[tuple[object, ...]]:
        """The values in the order of PostgreSQL's numbered parameters."""
        return [tuple(values[name] for name in self.query.parameters) for values in self.rows]


Step = Statement | Wake
Unit = Generator[Step, Rows, T]


def json_list(values: Iterable[object]) -> str:
    """Many values as one parameter: SQLite reads it with json_each, PostgreSQL with jsonb_array_elements_text."""
    return msgspec.json.encode(list(values)).decode()


def named_queries(namespace: Mapping[str, object]) -> list[Query]:
    """The queries a module declares, for the tests that look at all of them."""
    return [value for value in namespace.values() if isinstance(value, Query)]
