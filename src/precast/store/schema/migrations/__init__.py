"""The schema, as a sequence of migrations.

A migration expands first: its `expand` part only adds, so that programs of the previous release go on working beside the new ones.
Its `contract` part removes what no program needs any longer, and runs only when an operator asks for it. A released migration never
changes.

The texts use placeholders where the databases differ: {int}, {bytes}, {strict}, {by_time} (see `PLACEHOLDERS`).
"""

import msgspec

from precast.store.engine.query import Dialect, Query

PLACEHOLDERS: dict[Dialect, dict[str, str]] = {
    Dialect.SQLITE: {"int": "INTEGER", "bytes": "BLOB", "strict": " STRICT", "by_time": ""},
    Dialect.POSTGRESQL: {"int": "BIGINT", "bytes": "BYTEA", "strict": "", "by_time": " PARTITION BY RANGE (at)"},
}

# Changing a large table, or waiting for a server that does, may take long.
SCHEMA_S = 6 * 3600.0


class Migration(msgspec.Struct, frozen=True):
    """One step of the schema. `runs_with` is the oldest program, identified by its newest migration, that works on the expanded schema."""

    number: int
    name: str
    runs_with: int
    expand: tuple[str, ...]
    contract: tuple[str, ...] = ()
    # Statements only one database needs, after the shared ones.
    expand_only: dict[str, tuple[str, ...]] = {}

    def expand_queries(self, dialect: Dialect) -> list[Query]:
        return self._queries("expand", [*self.expand, *self.expand_only.get(dialect.value, ())], dialect)

    def contract_queries(self, dialect: Dialect) -> list[Query]:
        return self._queries("contract", self.contract, dialect)

    def _queries(self, part: str, texts: "list[str] | tuple[str, ...]", dialect: Dialect) -> list[Query]:
        return [
            Query(f"migration.{self.number}.{part}.{at}", text.format(**PLACEHOLDERS[dialect]), limit_s=SCHEMA_S)
            for at, text in enumerate(texts, start=1)
        ]
