"""Backups: one file that both databases can write and read, so that it can also move a site from SQLite to PostgreSQL.

A backup is taken on one snapshot beside running servers. The site's keys follow the rows: what the signer recorded is then at least as
new as what the database says about it, so no use of a token is forgotten. A file with keys is always encrypted. It is restored in one
transaction into an empty database, all of it or nothing. A backup of an older schema is restored into that schema, which is then expanded.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from precast.base.clock import to_micros
from precast.base.encryption.keys import Lock, Opener
from precast.base.errors import ConflictError, InternalError
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.schema.backup_format import (
    FORMAT,
    End,
    FilePart,
    Header,
    Page,
    new_backup,
    opened_backup,
    table_of,
    verify,
    write_frame,
)
from precast.store.schema.schema import Schema
from precast.store.schema.tables import TABLES
from precast.store.secrets.keys import forget_holders

READ_FENCE = Query("backup.read_fence", "SELECT last FROM work_fence", postgresql="SELECT last_value FROM work_fence")
# SQLite continues after the highest number by itself.
CONTINUE_NUMBERS = Query(
    "backup.continue_numbers",
    "SELECT 1",
    postgresql="SELECT setval('release_number', (SELECT coalesce(max(number), 0) + 1 FROM release_log), false)",
)
SET_FENCE = Query(
    "backup.set_fence",
    "UPDATE work_fence SET last = :fence",
    postgresql="SELECT setval('work_fence', greatest(CAST(:fence AS BIGINT), 1))",
)


class Keys(Protocol):
    """The files of the site's keys, to be backed up."""

    owner: str

    def opened(self) -> AbstractContextManager[Iterator[FilePart]]:
        """The parts of all files, as they are when it is entered."""


class Place(Protocol):
    """Where a backup is restored to, besides the database."""

    def begin(self, header: Header) -> None:
        """Begin, or begin again if the transaction is repeated. Raises InputError STORE-040 for an owner that is not known here."""

    def write(self, part: FilePart) -> None:
        """Write a part of a file of the site's keys."""


class Content(NamedTuple):
    """What a backup contains: the number of rows of each table, and the size of each file of keys."""

    counts: dict[str, int]
    files: dict[str, int]


async def take(
    database: Database, path: Path, lock: Lock | None = None, keys: Keys | None = None, owner: str = ""
) -> Content:
    """Write a backup, encrypted by `lock`. `owner` is the name of the database's owner on this machine.

    Raises ConflictError STORE-030 if the file exists, UnavailableError STORE-031 if it cannot be written; then no file is left behind.
    """
    assert keys is None or lock is not None, "keys are never written in plain text"
    await Schema(database).verify()
    with new_backup(path, lock) as file:
        counts = await database.read(_write_tables, database.clock.now(), database.dialect.value, file, keys, owner)
        files = {} if keys is None else _write_keys(keys, file)
        write_frame(file, End(counts, files))
    return Content(counts, files)


async def restore(database: Database, path: Path, opener: Opener | None = None, place: Place | None = None) -> Content:
    """Fill an empty database from a backup, and `place` with the site's keys.

    Raises ConflictError STORE-034 if the database has data, InputError STORE-033 if the file is incomplete; then nothing is stored.
    """
    try:
        content = await database.write(_restore_tables, database, path, opener, place)
    except (ConflictError, InternalError) as error:
        # A row that the database refuses may be damaged; only the checksum at the end of the file shows that.
        verify(path, opener)
        if issues.CONSTRAINT.matches(error):
            reason = f"the database refuses a row: {error.message}"
            raise issues.BACKUP_BROKEN.error(path=path, reason=reason) from error
        raise
    await Schema(database).expand()
    return content


def restore_keys(path: Path, opener: Opener | None, place: Place) -> Content:
    """Fill `place` with the site's keys alone. Raises what `opened_backup` raises."""
    files: dict[str, int] = {}
    with opened_backup(path, opener) as frames:
        for frame in frames:
            if isinstance(frame, Header):
                place.begin(frame)
            elif isinstance(frame, FilePart):
                place.write(frame)
                files[frame.name] = frame.offset + len(frame.data)
    return Content({}, files)


def _write_tables(
    now: datetime, source: str, file: BinaryIO, keys: Keys | None, owner: str
) -> Transaction[dict[str, int]]:
    """Write the frames as the pages are read. Only a read transaction may have such a side effect, because it is run once."""
    ((schema,),) = yield Query("backup.schema", "SELECT max(number) FROM schema_migration")()
    ((fence,),) = yield READ_FENCE()
    keys_owner = "" if keys is None else keys.owner
    write_frame(file, Header(FORMAT, schema, to_micros(now), source, fence, owner, keys_owner))
    counts = {}
    for table in TABLES:
        counts[table.name] = 0
        page = yield table.first_page(table.page_rows)
        while page:
            write_frame(file, Page(table.name, list(table.columns), [list(row) for row in page]))
            counts[table.name] += len(page)
            page = yield table.page_after(page[-1], table.page_rows)
    return counts


def _write_keys(keys: Keys, file: BinaryIO) -> dict[str, int]:
    sizes: dict[str, int] = {}
    with keys.opened() as parts:
        for part in parts:
            write_frame(file, part)
            sizes[part.name] = part.offset + len(part.data)
    return sizes


def _restore_tables(database: Database, path: Path, opener: Opener | None, place: Place | None) -> Transaction[Content]:
    with opened_backup(path, opener) as frames:
        header = next(frames)
        assert isinstance(header, Header), "opened_backup yields it first"
        if header.schema > (known := Schema(database).known):
            raise issues.BACKUP_NEWER.error(path=path, found=header.schema, known=known)
        if place is not None:
            place.begin(header)
        yield from Schema(database).apply_pending(header.schema)
        yield from _refuse_filled(database)
        content = Content({table.name: 0 for table in TABLES}, {})
        for frame in frames:
            if isinstance(frame, Page):
                content.counts[frame.table] += len(frame.rows)
                rows = (dict(zip(frame.columns, row, strict=True)) for row in frame.rows)
                yield table_of(frame.table).insert(frame.columns).many(rows)
            elif isinstance(frame, FilePart) and place is not None:
                place.write(frame)
                content.files[frame.name] = frame.offset + len(frame.data)
        yield SET_FENCE(fence=header.fence)
        yield CONTINUE_NUMBERS()
        yield from forget_holders()
    return content


def _refuse_filled(database: Database) -> Transaction[None]:
    for table in TABLES:
        if (yield table.first_page(1)):
            raise issues.NOT_EMPTY.error(location=database.location, table=table.name)
