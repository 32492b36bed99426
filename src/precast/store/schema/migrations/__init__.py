"""The schema, as the steps that led to it.

A migration expands first: it only adds, so that programs of the release before go on working beside the new ones. What nobody
needs any longer is removed by its `contract` part, which runs only when an operator says so. A released migration never
changes.

The texts use a few words for what the databases spell differently: {int}, {bytes}, {strict}, {by_time} (see `WORDS`).
"""

import msgspec

from precast.store.engine.query import Dialect, Query

WORDS: dict[Dialect, dict[str, str]] = {
    Dialect.SQLITE: {"int": "INTEGER", "bytes": "BLOB", "strict": " STRICT", "by_time": ""},
    Dialect.POSTGRESQL: {"int": "BIGINT", "bytes": "BYTEA", "strict": "", "by_time": " PARTITION BY RANGE (at)"},
}

# To change a large table, or to wait for a server that does, may take its time.
SCHEMA_S = 6 * 3600.0


class Migration(msgspec.Struct, frozen=True):
    """One step of the schema. `runs_with` is the oldest program, by its newest migration, that works once it is expanded."""

    number: int
    name: str
    runs_with: int
    expand: tuple[str, ...]
    contract: tuple[str, ...] = ()
    # Statements only one database needs, after the shared ones.
    expand_only: dict[str, tuple[str, ...]] = {}

    def expanding(self, dialect: Dialect) -> list[Query]:
        return self._queries("expand", [*self.expand, *self.expand_only.get(dialect.value, ())], dialect)

    def contracting(self, dialect: Dialect) -> list[Query]:
        return self._queries("contract", self.contract, dialect)

    def _queries(self, part: str, texts: "list[str] | tuple[str, ...]", dialect: Dialect) -> list[Query]:
        return [
            Query(f"migration.{self.number}.{part}.{at}", text.format(**WORDS[dialect]), limit_s=SCHEMA_S)
            for at, text in enumerate(texts, start=1)
        ]
