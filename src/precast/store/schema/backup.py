"""Backups: one file that both databases can write and read, so that it can also move a site from SQLite to PostgreSQL.

The file is a gzip stream of MessagePack values: a header, then for each table its columns and rows in pages, then an end with
the counts. A backup is taken on one snapshot beside running servers. The file appears under its name only when it is complete and
flushed. It is restored in one transaction into an empty database, all of it or nothing. A backup of an older schema is restored into
that schema, which is then expanded.
"""

import contextlib
import gzip
import os
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from precast.base.clock import to_micros
from precast.base.errors import ConflictError, InternalError
from precast.base.files import new_file
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.schema.schema import Schema
from precast.store.schema.tables import TABLES, Table

FORMAT = 1
# No page is nearly this large; a greater length means that the file is damaged.
MAX_FRAME_BYTES = 256 * 1024 * 1024

READ_FENCE = Query("backup.read_fence", "SELECT last FROM work_fence", postgresql="SELECT last_value FROM work_fence")
SET_FENCE = Query(
    "backup.set_fence",
    "UPDATE work_fence SET last = :fence",
    postgresql="SELECT setval('work_fence', greatest(CAST(:fence AS BIGINT), 1))",
)


class Header(msgspec.Struct, frozen=True, tag="header"):
    """The format, origin and schema of the file."""

    format: int
    schema: int
    taken_at_micros: int
    source: str
    fence: int


class Page(msgspec.Struct, frozen=True, tag="page"):
    """A page of rows of a table."""

    table: str
    columns: list[str]
    rows: list[list[Any]]


class End(msgspec.Struct, frozen=True, tag="end"):
    """The number of rows of each table: without this frame the file is truncated."""

    counts: dict[str, int]


Frame = Header | Page | End

_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Frame)


async def take(database: Database, path: Path) -> dict[str, int]:
    """Write a backup. Returns the number of rows of each table.

    Raises ConflictError STORE-030 if the file exists, UnavailableError STORE-031 if it cannot be written; then no file is left behind.
    """
    await Schema(database).verify()
    try:
        with _new_file(path) as file:
            return await database.read(_write_tables, database.clock.now(), database.dialect.value, file)
    except OSError as error:
        raise issues.BACKUP_UNWRITABLE.error(path=path, reason=error.strerror or error) from error


async def restore(database: Database, path: Path) -> dict[str, int]:
    """Fill an empty database from a backup. Returns the number of rows of each table.

    Raises ConflictError STORE-034 if the database has data, InputError STORE-033 if the file is incomplete; then nothing is stored.
    """
    try:
        with _errors_translated(path):
            counts = await database.write(_restore_tables, database, path)
    except (ConflictError, InternalError):
        # A row that the database refuses may be damaged; only the checksum at the end of the file shows that.
        _verify(path)
        raise
    await Schema(database).expand()
    return counts


def _write_tables(now: datetime, source: str, file: BinaryIO) -> Transaction[dict[str, int]]:
    """Write the frames as the pages are read. Only a read transaction may have such a side effect, because it is run once."""
    ((schema,),) = yield Query("backup.schema", "SELECT max(number) FROM schema_migration")()
    ((fence,),) = yield READ_FENCE()
    _write_frame(file, Header(FORMAT, schema, to_micros(now), source, fence))
    counts = {}
    for table in TABLES:
        counts[table.name] = 0
        page = yield table.first_page(table.page_rows)
        while page:
            _write_frame(file, Page(table.name, list(table.columns), [list(row) for row in page]))
            counts[table.name] += len(page)
            page = yield table.page_after(page[-1], table.page_rows)
    _write_frame(file, End(counts))
    return counts


def _restore_tables(database: Database, path: Path) -> Transaction[dict[str, int]]:
    with _opened(path) as frames:
        header = next(frames)
        assert isinstance(header, Header), "_read_frames yields it first"
        if header.schema > (known := Schema(database).known):
            raise issues.BACKUP_NEWER.error(path=path, found=header.schema, known=known)
        yield from Schema(database).apply_pending(header.schema)
        yield from _refuse_filled(database)
        counts = {table.name: 0 for table in TABLES}
        for frame in frames:
            if isinstance(frame, Page):
                counts[frame.table] += len(frame.rows)
                rows = (dict(zip(frame.columns, row, strict=True)) for row in frame.rows)
                yield _table(frame.table).insert(frame.columns).many(rows)
        yield SET_FENCE(fence=header.fence)
    return counts


def _refuse_filled(database: Database) -> Transaction[None]:
    for table in TABLES:
        if (yield table.first_page(1)):
            raise issues.NOT_EMPTY.error(location=database.location, table=table.name)


def _table(name: str) -> Table:
    return next(table for table in TABLES if table.name == name)


def _verify(path: Path) -> None:
    """Read a file to its end. Raises InputError STORE-033 if it is damaged. A pipe, which can be read only once, is not checked."""
    if path.is_file():
        with _errors_translated(path), _opened(path) as frames:
            for _ in frames:
                pass


@contextlib.contextmanager
def _errors_translated(path: Path) -> Iterator[None]:
    """Translate errors of reading a file to issues."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise issues.BACKUP_UNREADABLE.error(path=path, reason=error.strerror) from error
        raise issues.BACKUP_BROKEN.error(path=path, reason="it is damaged or truncated") from error


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Iterator[Frame]]:
    with path.open("rb") as raw, gzip.open(raw) as file:
        yield _read_frames(cast("BinaryIO", file), path)


def _read_frames(file: BinaryIO, path: Path) -> Iterator[Frame]:
    """Yield the frames of a file, checked: a header of a known format, known tables and columns, and an end with the right counts."""
    header = _read_frame(file, path)
    if not isinstance(header, Header):
        raise issues.BACKUP_BROKEN.error(path=path, reason="it does not begin with the header of a backup")
    if header.format != FORMAT:
        raise issues.BACKUP_BROKEN.error(path=path, reason=f"its format {header.format} is not known to this program")
    yield header
    counts = {table.name: 0 for table in TABLES}
    while isinstance(frame := _read_frame(file, path), Page):
        if frame.table not in counts or not set(frame.columns) <= set(_table(frame.table).columns):
            raise issues.BACKUP_BROKEN.error(path=path, reason=f"the table {frame.table} is not known to this program")
        counts[frame.table] += len(frame.rows)
        yield frame
    if not isinstance(frame, End) or {**counts, **frame.counts} != counts:
        raise issues.BACKUP_BROKEN.error(path=path, reason="rows are missing")
    # Reading to the end makes gzip compare its checksum: only then every byte is known to be intact.
    if file.read(1):
        raise issues.BACKUP_BROKEN.error(path=path, reason="there is data after its end")


def _write_frame(file: BinaryIO, frame: Frame) -> None:
    data = msgspec.msgpack.encode(frame)
    file.write(len(data).to_bytes(4) + data)


def _read_frame(file: BinaryIO, path: Path) -> Frame:
    length = int.from_bytes(file.read(4))
    if not 0 < length <= MAX_FRAME_BYTES or len(data := file.read(length)) != length:
        raise issues.BACKUP_BROKEN.error(path=path, reason="it is damaged or truncated")
    try:
        frame: Frame = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise issues.BACKUP_BROKEN.error(path=path, reason=error) from error
    return frame


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a private file (0600) that appears under its name only when all of it is on the disk."""
    if os.path.lexists(path):
        raise issues.BACKUP_EXISTS.error(path=path)
    try:
        with new_file(path) as draft, draft.open("wb") as raw:
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as file:
                yield cast("BinaryIO", file)
            raw.flush()
            os.fsync(raw.fileno())
    except FileExistsError:
        raise issues.BACKUP_EXISTS.error(path=path) from None
