"""Migrates the schema to the version that this program needs, once, however many servers start at the same time.

All pending migrations run in one transaction under a lock that all servers take, so a crash in the middle leaves the old schema
intact. A program can run on a newer schema as long as that schema permits it (`runs_with`, until the migration is contracted).
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.schema.migrations import SCHEMA_S, Migration
from precast.store.schema.migrations.all import MIGRATIONS

LOCK = Query(
    "schema.lock",
    "SELECT 1 -- the write transaction is the lock",
    # An arbitrary number of ours; released with the transaction.
    postgresql="SELECT pg_advisory_xact_lock(5791290347)",
    limit_s=SCHEMA_S,
)
CREATE = Query(
    "schema.create",
    """
    -- The migrations that were applied to this database.
    CREATE TABLE IF NOT EXISTS schema_migration (
        number INTEGER PRIMARY KEY, name TEXT NOT NULL, runs_with INTEGER NOT NULL,
        expanded_at BIGINT NOT NULL, contracted_at BIGINT
    )
    """,
)
EXISTS = Query(
    "schema.exists",
    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migration'",
    postgresql="SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_migration'",
)
FOREIGN = Query(
    "schema.foreign",
    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name <> 'schema_migration'",
    postgresql="SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'schema_migration'",
)
APPLIED = Query(
    "schema.applied", "SELECT number, name, runs_with, expanded_at, contracted_at FROM schema_migration ORDER BY number"
)
EXPANDED = Query(
    "schema.expanded",
    "INSERT INTO schema_migration (number, name, runs_with, expanded_at) VALUES (:number, :name, :runs_with, :now)",
)
CONTRACTED = Query("schema.contracted", "UPDATE schema_migration SET contracted_at = :now WHERE number = :number")


class AppliedMigration(msgspec.Struct, frozen=True):
    """A migration that was applied to this database."""

    number: int
    name: str
    runs_with: int
    expanded_at: datetime
    contracted_at: datetime | None


class Schema:
    """The schema of one database, for a program that knows these migrations."""

    def __init__(self, database: Database, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._database = database
        self._migrations = migrations
        self.known = migrations[-1].number

    async def list_applied(self) -> list[AppliedMigration]:
        return await self._database.read(self._read_applied)

    async def expand(self, up_to: int | None = None) -> list[Migration]:
        """Apply the pending migrations. Returns those that this call applied; none if another server was faster.

        Raises ConflictError STORE-020 if the database is newer than this program can use, STORE-022 if no release has made it.
        """
        return await self._database.write(self.apply_pending, self.known if up_to is None else up_to)

    async def contract(self) -> list[Migration]:
        """Remove what only programs of earlier releases needed. Returns the migrations that this call contracted."""
        return await self._database.write(self._apply_contractions)

    async def verify(self) -> None:
        """Raise ConflictError unless this program can use the database as it is."""
        applied = await self.list_applied()
        self._refuse_unusable(applied)
        current = applied[-1].number if applied else 0
        if current < self.known:
            raise issues.NOT_MIGRATED.error(found=current, known=self.known)

    def apply_pending(self, up_to: int) -> Transaction[list[Migration]]:
        """Apply the migrations up to a number; `expand` as a transaction, for a restore that fills the tables in it."""
        yield LOCK()
        applied = yield from self._read_applied()
        self._refuse_unusable(applied)
        if not applied:
            yield from self._refuse_foreign()
        done = {row.number for row in applied}
        pending = [
            migration for migration in self._migrations if migration.number not in done and migration.number <= up_to
        ]
        if (
            pending
        ):  # otherwise nothing is created, so that a role without the right to create tables can open the database
            yield CREATE()
        for migration in pending:
            for query in migration.expand_queries(self._database.dialect):
                yield query()
            yield EXPANDED(
                number=migration.number, name=migration.name, runs_with=migration.runs_with, now=self._now_micros()
            )
        return pending

    def _refuse_foreign(self) -> Transaction[None]:
        """Raise ConflictError STORE-004 for a database that has tables of another program, and none of ours."""
        ((tables,),) = yield FOREIGN()
        if tables:
            raise issues.NOT_OURS.error(location=self._database.location)

    def _apply_contractions(self) -> Transaction[list[Migration]]:
        yield LOCK()
        applied = yield from self._read_applied()
        self._refuse_unusable(applied)
        open_numbers = {row.number for row in applied if row.contracted_at is None}
        due = [migration for migration in self._migrations if migration.contract and migration.number in open_numbers]
        for migration in due:
            for query in migration.contract_queries(self._database.dialect):
                yield query()
            yield CONTRACTED(number=migration.number, now=self._now_micros())
        return due

    def _read_applied(self) -> Transaction[list[AppliedMigration]]:
        ((exists,),) = yield EXISTS()
        if not exists:
            return []
        rows = yield APPLIED()
        return [
            AppliedMigration(
                number, name, runs_with, from_micros(expanded), None if contracted is None else from_micros(contracted)
            )
            for number, name, runs_with, expanded, contracted in rows
        ]

    def _refuse_unusable(self, applied: Sequence[AppliedMigration]) -> None:
        """Raise ConflictError STORE-020 for a schema that is too new, STORE-022 for one that no release has made."""
        names = {migration.number: migration.name for migration in self._migrations}
        for row in applied:
            if names.get(row.number, row.name) != row.name:
                raise issues.UNRELEASED_SCHEMA.error(number=row.number, found=row.name, known=names[row.number])
        needed = max((row.number if row.contracted_at else row.runs_with for row in applied), default=0)
        if needed > self.known:
            raise issues.NEWER_SCHEMA.error(found=applied[-1].number, needed=needed, known=self.known)

    def _now_micros(self) -> int:
        return to_micros(self._database.clock.now())
