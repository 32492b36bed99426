"""Backups on both databases, and from each to the other."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError, NotFoundError, UnavailableError
from precast.base.ids import CountedIds
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location
from precast.store.engine.query import Row, Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.store.identity.tokens import EnrolmentToken, PersonToken, Tokens
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.schema import backup
from precast.store.schema.backup_format import FORMAT, End, Header, Page, new_backup, write_frame
from precast.store.schema.schema import Schema
from precast.store.schema.tables import PAGE_ROWS, TABLES
from precast.store.sessions.streams import Streams

KIND = WorkKind("compile", max_attempts=1)


@pytest.fixture
async def empty(empty_location: Location, clock: ManualClock) -> AsyncIterator[Database]:
    opened = await connect(empty_location, may_create=True, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def filled(database: Database, clock: ManualClock) -> Database:
    queue = WorkQueue(database, [KIND])
    streams = Streams(database)
    later = clock.now() + timedelta(days=1)
    await asyncio.gather(
        *(
            queue.enqueue("compile", f"node{number}", bytes([number % 256]) * 100, due_at=later)
            for number in range(PAGE_ROWS + 50)
        )
    )
    await queue.enqueue("compile", "dead", b"\x00")
    (claim,) = await queue.claim("compile", "worker", limit=1, lease_s=1)
    await queue.fail(claim, "it wasn’t to be")
    for name in ("a", "ü", ""):
        await streams.append(name, [bytes(range(256))] * 300)
    await streams.trim("a", 7)
    await database.write(write_identity, database)
    return database


def write_identity(database: Database) -> Transaction[None]:
    """Write one row into each table of identity."""
    now = database.clock.now()
    yield from NodeCertificates(database).lock_or_create("web1")
    yield from NodeCertificates(database).add(Certificate("f1", "a1", "web1", "digest", {"pp_role": "wéb"}, now, now))
    yield from Tokens(database).add_enrolment_token(
        EnrolmentToken("e", bytes(range(32)), "web*", {}, 1, 1, now, b"seal"), "ann"
    )
    yield from Tokens(database).add_person_token(
        PersonToken("p", bytes(range(32)), "ann", "admin", ["x"], now, b"seal"), "system"
    )
    yield from AuditLog(database, CountedIds()).add("system", "token.create", "p", person="ann")


def read_everything() -> Transaction[dict[str, list[Row]]]:
    rows = {}
    for table in TABLES:
        rows[table.name] = [tuple(row) for row in (yield table.first_page(10_000))]
    return rows


async def test_restored_database_equals_the_one_backed_up(filled: Database, empty: Database, tmp_path: Path) -> None:
    taken = await backup.take(filled, tmp_path / "backup")
    assert taken.files == {}
    assert taken.counts == {
        **{table.name: 0 for table in TABLES},
        "work_item": 250,
        "work_dead": 1,
        "stream": 3,
        "stream_record": 900 - 7,
        "node": 1,
        "certificate": 1,
        "enrolment_token": 1,
        "person_token": 1,
        "audit": 1,
        "audit_chain": 1,
    }
    assert await backup.restore(empty, tmp_path / "backup") == taken
    assert await empty.read(read_everything) == await filled.read(read_everything)
    await Schema(empty).verify()


async def test_restored_queue_continues_with_greater_fences(
    filled: Database, empty: Database, tmp_path: Path, clock: ManualClock
) -> None:
    clock.advance(2 * 86400)
    (before,) = await WorkQueue(filled, [KIND]).claim("compile", "worker", limit=1, lease_s=1)
    await backup.take(filled, tmp_path / "backup")
    await backup.restore(empty, tmp_path / "backup")
    clock.advance(2)
    claims = await WorkQueue(empty, [KIND]).claim("compile", "worker", limit=5, lease_s=60)
    assert claims
    assert all(claim.fence > before.fence for claim in claims)


async def test_backup_is_for_its_owner_only_and_never_overwrites(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    await backup.take(database, path)
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(ConflictError) as caught:
        await backup.take(database, path)
    assert caught.value.code == "STORE-030"
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(".")] == []


async def test_backup_into_a_missing_directory_is_refused(database: Database, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        await backup.take(database, tmp_path / "nowhere" / "backup")
    assert caught.value.code == "STORE-031"


async def test_restore_into_a_filled_database_is_refused(filled: Database, tmp_path: Path) -> None:
    await backup.take(filled, tmp_path / "backup")
    before = await filled.read(read_everything)
    with pytest.raises(ConflictError) as caught:
        await backup.restore(filled, tmp_path / "backup")
    assert caught.value.code == "STORE-034"
    assert await filled.read(read_everything) == before


async def test_restore_of_a_missing_file_is_not_found(empty: Database, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        await backup.restore(empty, tmp_path / "nothing")
    assert caught.value.code == "STORE-032"


@pytest.mark.parametrize("kept", [0, 1, 20, 0.5, 0.99])
async def test_truncated_backup_restores_nothing(
    filled: Database, empty: Database, tmp_path: Path, kept: float
) -> None:
    await backup.take(filled, tmp_path / "backup")
    whole = (tmp_path / "backup").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: int(kept if kept >= 1 else kept * len(whole))])
    with pytest.raises(InputError) as caught:
        await backup.restore(empty, tmp_path / "cut")
    assert caught.value.code == "STORE-033"
    assert await Schema(empty).list_applied() == []


@pytest.mark.timeout(300)  # forty attempts
async def test_backup_with_one_changed_bit_restores_nothing(filled: Database, empty: Database, tmp_path: Path) -> None:
    await backup.take(filled, tmp_path / "backup")
    whole = (tmp_path / "backup").read_bytes()
    for place in range(10, len(whole), len(whole) // 40):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(InputError) as caught:
            await backup.restore(empty, tmp_path / "damaged")
        assert caught.value.code == "STORE-033", place
    assert await Schema(empty).list_applied() == []


async def test_backup_of_a_newer_program_is_refused_by_its_number(
    filled: Database, empty: Database, tmp_path: Path
) -> None:
    await backup.take(filled, tmp_path / "backup")
    frames = gzip.decompress((tmp_path / "backup").read_bytes())
    end = 4 + int.from_bytes(frames[:4])
    header = msgspec.msgpack.decode(frames[4:end]) | {"schema": 99}
    data = msgspec.msgpack.encode(header)
    (tmp_path / "newer").write_bytes(gzip.compress(len(data).to_bytes(4) + data + frames[end:]))
    with pytest.raises(ConflictError) as caught:
        await backup.restore(empty, tmp_path / "newer")
    assert caught.value.code == "STORE-035"
    assert await Schema(empty).list_applied() == []


async def test_backup_without_some_rows_restores_nothing(filled: Database, empty: Database, tmp_path: Path) -> None:
    await backup.take(filled, tmp_path / "backup")
    frames = gzip.decompress((tmp_path / "backup").read_bytes())
    lengths, at = [], 0
    while at < len(frames):
        lengths.append((at, at + 4 + int.from_bytes(frames[at : at + 4])))
        at = lengths[-1][1]
    start, end = lengths[2]
    (tmp_path / "less").write_bytes(gzip.compress(frames[:start] + frames[end:]))
    with pytest.raises(InputError, match="rows are missing"):
        await backup.restore(empty, tmp_path / "less")
    assert await Schema(empty).list_applied() == []


async def test_row_that_the_database_refuses_is_said_to_be_in_the_backup(empty: Database, tmp_path: Path) -> None:
    with new_backup(tmp_path / "forged", None) as file:
        write_frame(file, Header(FORMAT, Schema(empty).known, 0, "SQLite", 0))
        write_frame(file, Page("authority", ["fingerprint", "added_at"], [["same", 1], ["same", 2]]))
        write_frame(file, End({"authority": 2}))
    with pytest.raises(InputError, match="the database refuses a row") as caught:
        await backup.restore(empty, tmp_path / "forged")
    assert caught.value.code == "STORE-033"
    assert await Schema(empty).list_applied() == []


@pytest.mark.parametrize(
    "content", [b"", b"not a backup", gzip.compress(b"", mtime=0), gzip.compress(b"\x00\x00\x00\x01\xc0", mtime=0)]
)
async def test_foreign_file_is_refused_as_backup(empty: Database, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "foreign").write_bytes(content)
    with pytest.raises(InputError) as caught:
        await backup.restore(empty, tmp_path / "foreign")
    assert caught.value.code == "STORE-033"
