"""SQL as named values, and transactions as generators.

A query has a name and a text in the subset of SQL that SQLite and PostgreSQL share; where they must differ, PostgreSQL gets a
text of its own. Parameters are written `:name` in both.

A *transaction* is a generator that yields statements, is sent their rows, and runs inside one database transaction. It knows
nothing of threads, event loops or drivers. So the same function serves the thread that owns SQLite and the coroutine that talks to
PostgreSQL; transactions can be composed with `yield from`; and a transaction can be run again from its start when the group it was
committed with is rolled back. For that reason it must have no side effect outside the database.
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

# How many items one computation handles.
COMPUTE_BATCH = 16
# A colon that begins a parameter: not the second of `::`, and followed by a name.
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)\b")
# A statement that writes one row: the text before its values, the values, the text after them.
_ROW = re.compile(r"(.*\bVALUES\s*)(\((?:[^()]|\([^()]*\))*\))(.*)", re.DOTALL)
_CHANGE = re.compile(r"\b(?:INSERT|UPDATE)\b")
# How many rows one multi-row statement writes on SQLite: few sizes, because each is a prepared statement to cache.
_ROWS_AT_ONCE = (64, 16, 4, 1)

# A row unpacks like a tuple; only the one module that uses the query knows its columns.
Row = Any
Rows = Sequence[Row]


class Dialect(enum.Enum):
    SQLITE = "SQLite"
    POSTGRESQL = "PostgreSQL"


class Wake(NamedTuple):
    """Yielded by a transaction: the commit wakes the subscribers of the topic."""

    topic: str


class Notice(NamedTuple):
    """Yielded by a transaction: the commit writes the text to the server's log, under its kind. A transaction that fails writes none."""

    kind: str
    text: str


class Computation(NamedTuple):
    """Yielded by a transaction: CPU-bound work that needs no database. The transaction is sent its return value.

    Where a thread of its own runs the transaction, the event loop runs the work: two threads that both have much to do in Python
    contend for the interpreter lock and are slower than one.
    """

    work: Callable[[], Any]


class Query:
    """One named statement. Calling it binds its parameters.

    `limit_s` replaces the engine's time limit for a statement that may take longer than others. `columns` is the form for PostgreSQL
    that writes many rows with one statement. `key` names parameters whose values begin each returned row, in that order: with them,
    statements of several callers can be merged (`lockstep`).
    """

    def __init__(
        self,
        name: str,
        sql: str,
        *,
        postgresql: str | None = None,
        columns: "Columns | None" = None,
        limit_s: float | None = None,
        key: Sequence[str] | None = None,
    ) -> None:
        self.name = name
        self.key = key
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
        """Bind the statement to many rows that are sent together. It returns the rows of all of them if it has a multi-row form."""
        batch = []
        for values in rows:
            self._verify(values)
            batch.append(tuple([values[name] for name in self.parameters]))
        return ManyRows(self, batch)

    def many_tuples(self, rows: Sequence[tuple[object, ...]]) -> "ManyRows":
        """As `many`, for rows whose values stand in the order of the parameters: cheaper where there are very many."""
        return ManyRows(self, rows)

    def count_changed(self, rows: Sequence[tuple[object, ...]]) -> "ManyRows":
        """As `many_tuples`, for a query without RETURNING: it returns one row with one column, the number of changed rows."""
        return ManyRows(self, rows, is_counted=True)

    def _verify(self, values: Mapping[str, object]) -> None:
        if values.keys() != self._expected:
            raise TypeError(f"{self.name} takes {sorted(self._expected)}, got {sorted(values)}")

    @cached_property
    def numbered(self) -> str:
        """The text for SQLite, with positional parameters."""
        return self._number(self.sqlite, 0)

    @cached_property
    def multi_row_sql(self) -> Mapping[int, str]:
        """For SQLite: the text by the number of rows it takes, the largest first; empty if the statement does not take one row."""
        form = _ROW.fullmatch(self.sqlite)
        if form is None or _PARAMETER.search(form[1] + form[3]):
            return {}
        if self.columns is None and not _CHANGE.search(form[1] + form[3]):
            return {}
        places = range(0, _ROWS_AT_ONCE[0] * len(self.parameters), len(self.parameters) or 1)
        return {
            count: form[1] + ", ".join(self._number(form[2], first) for first in places[:count]) + form[3]
            for count in _ROWS_AT_ONCE
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
        """For PostgreSQL: the values of several rows, column by column. Raises ValueError if a `word` contains a blank."""
        return [
            values if join is None else join(values)
            for join, values in zip(columns.joins, zip(*self.rows, strict=True), strict=True)
        ]

    def multi_row_statements(self) -> Iterable[tuple[str, list[object]]]:
        """For SQLite: statements that write several rows each, with their values. Few statements are cheaper: each one releases and
        takes the interpreter lock, which costs more than a row does."""
        first = 0
        for count, text in self.query.multi_row_sql.items():
            while len(self.rows) - first >= count:
                yield text, list(chain.from_iterable(self.rows[first : first + count]))
                first += count


Step = Statement | ManyRows | Wake | Notice | Computation
# It is sent the rows of a statement, or the value of a computation.
Transaction = Generator[Step, Any, T]


def _each(work: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    return [work(item) for item in items]


def compute_each(items: Sequence[Item], work: Callable[[Item], T]) -> Transaction[list[T]]:
    """Call `work` for each item, a few at a time, so that the event loop can run other tasks in between."""
    values: list[T] = []
    for first in range(0, len(items), COMPUTE_BATCH):
        values += yield Computation(partial(_each, work, items[first : first + COMPUTE_BATCH]))
    return values


class Columns(NamedTuple):
    """For PostgreSQL: a statement for many rows. Each parameter holds the values of one column, as an array or joined to one text."""

    sql: str
    joins: Sequence[Callable[[Sequence[Any]], str] | None]


def _join_words(words: Sequence[str]) -> str:
    joined = " ".join(words)
    if joined.count(" ") != len(words) - 1:
        raise ValueError("a word contains a blank")
    return joined


def _join_numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


class _Kind(NamedTuple):
    """The kind of a column: its type on PostgreSQL, and how its values are joined to one parameter."""

    type: str
    join: Callable[[Sequence[Any]], str] | None = None


# The driver encodes each element of an array by itself, but a joined text at once; the database splits it again. A `word` is a text
# without blanks, a `number` an integer; neither is ever NULL.
_KINDS = {
    "text": _Kind("TEXT"),
    "int": _Kind("BIGINT"),
    "bytes": _Kind("BYTEA"),
    "word": _Kind("TEXT", _join_words),
    "number": _Kind("BIGINT", _join_numbers),
}


def insert(name: str, table: str, columns: str, then: str = "", key: Sequence[str] | None = None) -> Query:
    """Make an INSERT of one row that can also write many rows at once. `columns` lists the columns with their kinds (`text`, `int`,
    `bytes`, `word`, `number`); each is a parameter of the same name. `then` follows the values and may refer to `excluded`."""
    kinds = _kinds(columns)
    head = f"INSERT INTO {table} ({', '.join(kinds)})"
    return Query(
        name,
        f"{head} VALUES ({_parameters(kinds)}) {then}",
        columns=_columns(kinds, f"{head} SELECT * FROM", then),
        key=key,
    )


def batch(name: str, columns: str, sql: str, *, lock: str = "", key: Sequence[str] | None = None) -> Query:
    """Make a statement for one row of input that can also handle many at once: it refers to them as the table `input`, which has these
    columns. `lock` follows on PostgreSQL."""
    kinds = _kinds(columns)
    suffix = f" {lock}" if lock else ""
    casts = ", ".join(f"CAST(:{column} AS {kind.type})" for column, kind in kinds.items())
    head = f"WITH input ({', '.join(kinds)}) AS"
    return Query(
        name,
        f"{head} (VALUES ({_parameters(kinds)})) {sql}",
        postgresql=f"{head} (VALUES ({casts})) {sql}{suffix}",
        columns=_columns(kinds, f"{head} (SELECT * FROM", f") {sql}{suffix}"),
        key=key,
    )


def _kinds(columns: str) -> dict[str, _Kind]:
    return {name: _KINDS[kind] for name, kind in map(str.split, columns.split(","))}


def _parameters(kinds: Iterable[str]) -> str:
    return ", ".join(f":{column}" for column in kinds)


def _columns(kinds: Mapping[str, _Kind], before: str, after: str) -> Columns:
    """Make the statement that has the rows between these two texts."""
    arrays = [
        f"${at}::{kind.type}[]" if kind.join is None else f"CAST(string_to_array(${at}, ' ') AS {kind.type}[])"
        for at, kind in enumerate(kinds.values(), start=1)
    ]
    return Columns(f"{before} unnest({', '.join(arrays)}) {after}", [kind.join for kind in kinds.values()])


def json_list(values: Iterable[object]) -> str:
    """Encode many values as one parameter: SQLite reads it with json_each, PostgreSQL with jsonb_array_elements_text."""
    return msgspec.json.encode(list(values)).decode()


def named_queries(namespace: Mapping[str, object]) -> list[Query]:
    """List the queries that a module declares, for the tests that check all of them."""
    return [value for value in namespace.values() if isinstance(value, Query)]
