"""The file of a backup: frames, compressed, and encrypted if it holds keys.

A frame is a MessagePack value with its length before it. A header comes first, then pages of rows for each table, then the site's keys in
parts, then an end with the counts. The stream of frames is compressed by gzip. Around that, a file with keys is encrypted in the format of
`age`, so that its program opens it too.
"""

import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from precast.base.encryption.files import MAGIC, DecryptedReader, DecryptionError, EncryptedWriter, WrongKeyError
from precast.base.encryption.keys import Lock, Opener
from precast.base.files import new_file
from precast.store import issues
from precast.store.schema.tables import TABLES, Table

FORMAT = 1
# No page is nearly this large; a greater length means that the file is damaged.
MAX_FRAME_BYTES = 256 * 1024 * 1024
PART_BYTES = 1024 * 1024


class Header(msgspec.Struct, frozen=True, tag="header"):
    """The format, origin and schema of the file, and the names of the users who own the database and the keys."""

    format: int
    schema: int
    taken_at_micros: int
    source: str
    fence: int
    database_owner: str = ""
    keys_owner: str = ""


class Page(msgspec.Struct, frozen=True, tag="page"):
    """A page of rows of a table."""

    table: str
    columns: list[str]
    rows: list[list[Any]]


class FilePart(msgspec.Struct, frozen=True, tag="file"):
    """A part of a file of the site's keys. The first part of each file has offset 0."""

    name: str  # such as authority/key.pem
    mode: int
    offset: int
    data: bytes


class End(msgspec.Struct, frozen=True, tag="end"):
    """The number of rows of each table, and the size of each file of keys: without this frame the file is truncated."""

    counts: dict[str, int]
    files: dict[str, int] = {}


Frame = Header | Page | FilePart | End

_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Frame)


def table_of(name: str) -> Table:
    return next(table for table in TABLES if table.name == name)


def write_frame(file: BinaryIO, frame: Frame) -> None:
    data = msgspec.msgpack.encode(frame)
    file.write(len(data).to_bytes(4) + data)


@contextlib.contextmanager
def new_backup(path: Path, lock: Lock | None) -> Iterator[BinaryIO]:
    """Open a private file (0600) that appears under its name only when all of it is on the disk.

    Raises ConflictError STORE-030 if the name is taken, UnavailableError STORE-031 if it cannot be written.
    """
    if os.path.lexists(path):
        raise issues.BACKUP_EXISTS.error(path=path)
    try:
        with new_file(path) as draft, draft.open("wb") as raw:
            encrypted = None if lock is None else EncryptedWriter(raw, lock)
            target = raw if encrypted is None else cast("BinaryIO", encrypted)
            with gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=6, mtime=0) as file:
                yield cast("BinaryIO", file)
            if encrypted is not None:
                encrypted.finish()
            raw.flush()
            os.fsync(raw.fileno())
    except FileExistsError:
        raise issues.BACKUP_EXISTS.error(path=path) from None
    except OSError as error:
        raise issues.BACKUP_UNWRITABLE.error(path=path, reason=error.strerror or error) from error


def is_encrypted(path: Path) -> bool:
    """Whether this is an encrypted file. A pipe, which can be read only once, is not looked into; reading tells what is wrong."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return _begins_encrypted(file.read(len(MAGIC)))
    except OSError:
        return False


def _begins_encrypted(data: bytes) -> bool:
    """Whether these first bytes, of which a pipe may not have sent all, are those of an encrypted file."""
    return bool(data) and MAGIC.startswith(data[: len(MAGIC)])


@contextlib.contextmanager
def opened_backup(path: Path, opener: Opener | None) -> Iterator[Iterator[Frame]]:
    """The frames of a file, the header first.

    Raises NotFoundError STORE-032 if the file cannot be read, InputError STORE-033 if it is damaged, STORE-036 if it is encrypted and
    nothing is given that opens it, STORE-037 if what is given does not.
    """
    try:
        with path.open("rb") as raw:
            compressed: BinaryIO = raw
            if _begins_encrypted(raw.peek(len(MAGIC))):
                if opener is None:
                    raise issues.BACKUP_ENCRYPTED.error(path=path)
                compressed = cast("BinaryIO", io.BufferedReader(DecryptedReader(raw, opener)))
            with gzip.open(compressed) as file:
                yield _read_frames(cast("BinaryIO", file), path)
    except WrongKeyError as error:
        raise issues.WRONG_BACKUP_KEY.error(path=path) from error
    except DecryptionError as error:
        raise issues.BACKUP_BROKEN.error(path=path, reason=error) from error
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise issues.BACKUP_UNREADABLE.error(path=path, reason=error.strerror) from error
        raise issues.BACKUP_BROKEN.error(path=path, reason="it is damaged or truncated") from error


def verify(path: Path, opener: Opener | None) -> None:
    """Read a file to its end. Raises InputError STORE-033 if it is damaged. A pipe, which can be read only once, is not checked."""
    if path.is_file():
        with opened_backup(path, opener) as frames:
            for _ in frames:
                pass


def _read_frames(file: BinaryIO, path: Path) -> Iterator[Frame]:
    """Yield the frames of a file, checked: a header of a known format, known tables and columns, and an end with the right counts."""
    header = _read_frame(file, path)
    if not isinstance(header, Header):
        raise issues.BACKUP_BROKEN.error(path=path, reason="it does not begin with the header of a backup")
    if header.format != FORMAT:
        raise issues.BACKUP_BROKEN.error(path=path, reason=f"its format {header.format} is not known to this program")
    if header.schema < 1 or not 0 <= header.fence < 2**63:
        raise issues.BACKUP_BROKEN.error(path=path, reason="its header has an impossible number")
    yield header
    counts, sizes = {table.name: 0 for table in TABLES}, dict[str, int]()
    while isinstance(frame := _read_frame(file, path), Page | FilePart):
        if isinstance(frame, FilePart):
            if frame.offset != sizes.get(frame.name, 0) or (frame.offset == 0 and frame.name in sizes):
                reason = f"a part of the file {frame.name[:200]!r} is missing or repeated"
                raise issues.BACKUP_BROKEN.error(path=path, reason=reason)
            sizes[frame.name] = frame.offset + len(frame.data)
        elif frame.table not in counts or not set(frame.columns) <= set(table_of(frame.table).columns):
            reason = f"the table {frame.table[:200]!r} is not known to this program"
            raise issues.BACKUP_BROKEN.error(path=path, reason=reason)
        elif any(len(row) != len(frame.columns) for row in frame.rows):
            raise issues.BACKUP_BROKEN.error(path=path, reason=f"a row of {frame.table} is not complete")
        else:
            counts[frame.table] += len(frame.rows)
        yield frame
    if not isinstance(frame, End) or {**counts, **frame.counts} != counts or frame.files != sizes:
        raise issues.BACKUP_BROKEN.error(path=path, reason="rows are missing")
    # Reading to the end makes gzip compare its checksum: only then every byte is known to be intact.
    if file.read(1):
        raise issues.BACKUP_BROKEN.error(path=path, reason="there is data after its end")


def _read_frame(file: BinaryIO, path: Path) -> Frame:
    length = int.from_bytes(file.read(4))
    if not 0 < length <= MAX_FRAME_BYTES or len(data := file.read(length)) != length:
        raise issues.BACKUP_BROKEN.error(path=path, reason="it is damaged or truncated")
    try:
        frame: Frame = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise issues.BACKUP_BROKEN.error(path=path, reason=error) from error
    return frame
