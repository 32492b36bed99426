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
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")
Item = TypeVar("Item")

# So many are thought about at a time.
THOUGHTS = 16
# A colon that begins a parameter: not the second of `::`, and followed by a name.
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)\b")
# A change that takes one row: what stands before its values, the values, what stands behind them.
_ROW = re.compile(r"(.*\bVALUES\s*)(\((?:[^()]|\([^()]*\))*\))(.*)", re.DOTALL)
_CHANGE = re.compile(r"\b(?:INSERT|UPDATE)\b")
# Rows that one statement takes on SQLite, if it can take several: few sizes, because each is a statement to be kept.
_TOGETHER = (64, 16, 4, 1)

# A row unpacks like a tuple; what its columns are is between the query and the one module that uses it.
Row = Any
Rows = Sequence[Row]


class Dialect(enum.Enum):
    SQLITE = "SQLite"
    POSTGRESQL = "PostgreSQL"


class Wake(NamedTuple):
    """Yielded by a unit: once it is committed, whoever listens to the topic is woken."""

    topic: str


class Think(NamedTuple):
    """Yielded by a unit: something that takes long to work out and needs no database; the unit is sent what comes of it.

    Where a thread of its own runs the unit, it is worked out by the event loop meanwhile: two threads that both have much to do in
    Python hand the interpreter to each other all the time, and are slower than one.
    """

    work: Callable[[], Any]


class Query:
    """One named statement. Calling it binds its parameters.

    `limit_s` is for statements that may take longer than others, on a database that limits them. `columns` is for PostgreSQL, where many
    rows are cheaper as one statement.
    """

    def __init__(
        self,
        name: str,
        sql: str,
        *,
        postgresql: str | None = None,
        columns: "Columns | None" = None,
        limit_s: float | None = None,
    ) -> None:
        self.name = name
        self.limit_s = limit_s
        self.sqlite = sql
        self.parameters = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
        numbered = {parameter: f"${at}" for at, parameter in enumerate(self.parameters, start=1)}
        self.postgresql = _PARAMETER.sub(lambda match: numbered[match[1]], sql if postgresql is None else postgresql)
        self.columns = columns
        self._expected = frozenset(self.parameters)

    def __call__(self, **values: object) -> "Statement":
        self._verify(values)
        return Statement(self, values)

    def many(self, rows: Iterable[Mapping[str, object]]) -> "ManyRows":
        """The same statement for each of these rows, sent together; what it returns are those of all, if it takes many at once."""
        batch = []
        for values in rows:
            self._verify(values)
            batch.append(tuple([values[name] for name in self.parameters]))
        return ManyRows(self, batch)

    def in_order(self, rows: Sequence[tuple[object, ...]]) -> "ManyRows":
        """The same for rows that have their values in the order of the parameters; for those of which there are very many."""
        return ManyRows(self, rows)

    def counting(self, rows: Sequence[tuple[object, ...]]) -> "ManyRows":
        """The same for a query that returns no rows: how many it has changed, as the one column of the one row that comes of it."""
        return ManyRows(self, rows, is_counted=True)

    def _verify(self, values: Mapping[str, object]) -> None:
        if values.keys() != self._expected:
            raise TypeError(f"{self.name} takes {sorted(self._expected)}, got {sorted(values)}")

    @cached_property
    def numbered(self) -> str:
        """For SQLite, with the values in their order."""
        return self._number(self.sqlite, 0)

    @cached_property
    def together(self) -> Mapping[int, str]:
        """For SQLite: texts that take so many rows at once, the greatest first; none if it is not a change that takes a row."""
        form = _ROW.fullmatch(self.sqlite)
        if form is None or not _CHANGE.search(form[1] + form[3]) or _PARAMETER.search(form[1] + form[3]):
            return {}
        places = range(0, _TOGETHER[0] * len(self.parameters), len(self.parameters) or 1)
        return {
            count: form[1] + ", ".join(self._number(form[2], first) for first in places[:count]) + form[3]
            for count in _TOGETHER
        }

    def _number(self, text: str, first: int) -> str:
        places = {parameter: f"?{at}" for at, parameter in enumerate(self.parameters, start=first + 1)}
        return _PARAMETER.sub(lambda match: places[match[1]], text)


class Statement(NamedTuple):
    """A query with its values."""

    query: Query
    values: Mapping[str, object]

    def positional(self) -> list[object]:
        """The values in the order of PostgreSQL's numbered parameters."""
        return [self.values[name] for name in self.query.parameters]


class ManyRows(NamedTuple):
    """A query for many rows, each with its values in the order of the parameters."""

    query: Query
    rows: Sequence[tuple[object, ...]]
    is_counted: bool = False

    def by_column(self, columns: "Columns") -> Sequence[object]:
        """For PostgreSQL: the values of several rows, column by column. Raises ValueError for a word that is none."""
        return [
            values if join is None else join(values)
            for join, values in zip(columns.joins, zip(*self.rows, strict=True), strict=True)
        ]

    def together(self) -> Iterable[tuple[str, list[object]]]:
        """For SQLite: statements that take several rows each, with their values. Each lets others have their turn, which costs
        more than a row does."""
        at = 0
        for count, text in self.query.together.items():
            while len(self.rows) - at >= count:
                yield text, list(chain.from_iterable(self.rows[at : at + count]))
                at += count


Step = Statement | ManyRows | Wake | Think
# It is sent rows, or what it has thought out.
Transaction = Generator[Step, Any, T]


def _each(work: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    return [work(one) for one in items]


def thinking(items: Sequence[Item], work: Callable[[Item], T]) -> Transaction[list[T]]:
    """What comes of each of these, worked out a few at a time: where one thread does everything, others go first in between."""
    found: list[T] = []
    for first in range(0, len(items), THOUGHTS):
        found += yield Think(partial(_each, work, items[first : first + THOUGHTS]))
    return found


class Columns(NamedTuple):
    """For PostgreSQL: a statement for many rows. Each parameter holds the values of one column: as an array, or joined to one text."""

    sql: str
    joins: Sequence[Callable[[Sequence[Any]], str] | None]


def _join_words(words: Sequence[str]) -> str:
    joined = " ".join(words)
    if joined.count(" ") != len(words) - 1:
        raise ValueError("a word has a blank in it")
    return joined


def _join_numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


class _Kind(NamedTuple):
    """What a column holds: its type on PostgreSQL, and how many values become one parameter."""

    type: str
    join: Callable[[Sequence[Any]], str] | None = None


# The driver takes a good look at each element of an array, and none into a text, which the database splits. A `word` is a text without
# blanks, a `number` an integer; neither is ever absent.
_KINDS = {
    "text": _Kind("TEXT"),
    "int": _Kind("BIGINT"),
    "bytes": _Kind("BYTEA"),
    "word": _Kind("TEXT", _join_words),
    "number": _Kind("BIGINT", _join_numbers),
}


def insert(name: str, table: str, columns: str, then: str = "") -> Query:
    """The INSERT of a row, which also takes many at once: columns with their kinds (`text`, `int`, `bytes`, `word`, `number`), each a
    parameter of the same name. What follows its values may speak of `excluded`."""
    kinds = _kinds(columns)
    head = f"INSERT INTO {table} ({', '.join(kinds)})"
    return Query(
        name,
        f"{head} VALUES ({_parameters(kinds)}) {then}",
        columns=_columns(kinds, f"{head} SELECT * FROM", then),
    )


def batch(name: str, columns: str, sql: str) -> Query:
    """A change that is made for a row and also takes many at once: it speaks of them as the table `came`, which has these columns."""
    kinds = _kinds(columns)
    casts = ", ".join(f"CAST(:{column} AS {kind.type})" for column, kind in kinds.items())
    head = f"WITH came ({', '.join(kinds)}) AS"
    return Query(
        name,
        f"{head} (VALUES ({_parameters(kinds)})) {sql}",
        postgresql=f"{head} (VALUES ({casts})) {sql}",
        columns=_columns(kinds, f"{head} (SELECT * FROM", f") {sql}"),
    )


def _kinds(columns: str) -> dict[str, _Kind]:
    return {name: _KINDS[kind] for name, kind in map(str.split, columns.split(","))}


def _parameters(kinds: Iterable[str]) -> str:
    return ", ".join(f":{column}" for column in kinds)


def _columns(kinds: Mapping[str, _Kind], before: str, after: str) -> Columns:
    """The statement that has the rows between these words."""
    arrays = [
        f"${at}::{kind.type}[]" if kind.join is None else f"CAST(string_to_array(${at}, ' ') AS {kind.type}[])"
        for at, kind in enumerate(kinds.values(), start=1)
    ]
    return Columns(f"{before} unnest({', '.join(arrays)}) {after}", [kind.join for kind in kinds.values()])


def json_list(values: Iterable[object]) -> str:
    """Many values as one parameter: SQLite reads it with json_each, PostgreSQL with jsonb_array_elements_text."""
    return msgspec.json.encode(list(values)).decode()


def named_queries(namespace: Mapping[str, object]) -> list[Query]:
    """The queries a module declares, for the tests that look at all of them."""
    return [value for value in namespace.values() if isinstance(value, Query)]
