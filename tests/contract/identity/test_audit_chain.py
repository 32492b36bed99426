"""The chains of the audit log on both databases: what is detected, what the database refuses, and that servers do not wait."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.base.ids import TimeOrderedIds
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.identity import audit as audit_store
from precast.store.identity.audit import AuditLog
from precast.store.schema import backup
from precast.wire.identity.audit import ChainChecker, ChainFault

COUNT = 7
COLUMNS = ("id", "at", "actor", "action", "target", "detail", "chain", "sequence", "previous", "hash")


def log_of(database: Database) -> AuditLog:
    return AuditLog(database, TimeOrderedIds(database.clock))


async def fill(database: Database, count: int = COUNT) -> AuditLog:
    log = log_of(database)
    for number in range(1, count + 1):
        await database.write(log.add, f"person:ann{number}", "node.purge", f"web{number}", why="gone", number=number)
    return log


async def check(log: AuditLog, exported: dict[str, dict[int, str]] | None = None, page: int = 3) -> list[ChainFault]:
    """Check all chains as the command does, with small pages."""
    faults = []
    exported = exported or {}
    for chain in sorted({head.chain for head in await log.read_heads()} | exported.keys()):
        checker, after, is_last = ChainChecker(chain, exported.get(chain, {})), -(10**17), False
        fault = None
        while not is_last and fault is None:
            entries = await log.read_chain(chain, after, page)
            fault = checker.check(entries.entries)
            is_last = entries.is_last
            if entries.entries:
                after = entries.entries[-1].sequence
        fault = fault or checker.finish(entries.head)
        faults += [fault] if fault is not None else []
    return faults


async def as_administrator(database: Database, *statements: str) -> None:
    """Change the database as somebody who has all rights on it and switches the triggers off."""

    def change() -> Transaction[None]:
        if database.dialect is Dialect.POSTGRESQL:
            for table in ("audit", "audit_chain"):
                yield Query("t.off", f"ALTER TABLE {table} DISABLE TRIGGER USER")()
            yield Query("t.replica", "SET LOCAL session_replication_role = replica")()  # no foreign keys either
        else:
            yield Query("t.defer", "PRAGMA defer_foreign_keys = ON")()
            for (name,) in (yield Query("t.list", "SELECT name FROM sqlite_master WHERE type = 'trigger'")()):
                yield Query("t.off", f"DROP TRIGGER {name}")()
        for statement in statements:
            yield Query("t.change", statement)()

    await database.write(change)


async def test_log_that_nobody_touched_is_intact(database: Database) -> None:
    log = await fill(database)
    assert await check(log) == []
    (head,) = await log.read_heads()
    assert (head.chain, head.sequence, len(head.hash)) == (database.process_name, COUNT, 64)


# The last digit of a number, or the last character of a text or of bytes, becomes another one.
def changed(column: str, dialect: Dialect) -> str:
    if column in ("at", "sequence"):
        return f"{column} + 1000"
    if column == "detail":
        return "CAST('{}' AS BLOB)" if dialect is Dialect.SQLITE else "CAST('{}' AS BYTEA)"
    return f"{column} || 'x'"


@pytest.mark.parametrize("place", [1, 4, COUNT])
@pytest.mark.parametrize("column", COLUMNS)
async def test_change_of_any_column_of_any_entry_is_detected(database: Database, column: str, place: int) -> None:
    log = await fill(database)
    value = changed(column, database.dialect)
    # The database refuses an entry without a chain, so whoever moves one makes a chain for it.
    other = "INSERT INTO audit_chain (chain, sequence, hash) SELECT chain || 'x', 0, '' FROM audit_chain"
    await as_administrator(database, other) if column == "chain" else None
    await as_administrator(database, f"UPDATE audit SET {column} = {value} WHERE sequence = {place}")
    faults = await check(log)
    assert min(fault.sequence for fault in faults) in (place, 1)  # 1: an entry that was moved begins another chain
    if column in ("actor", "action", "target", "detail", "at", "id"):
        (fault,) = faults
        assert fault.entry is not None
        assert (fault.sequence, fault.reason) == (place, "it was changed")


async def test_detail_with_other_bytes_of_the_same_value_is_detected(database: Database) -> None:
    log = await fill(database)
    text = '{"number":2, "why":"gone"}'
    kind = "BLOB" if database.dialect is Dialect.SQLITE else "BYTEA"
    await as_administrator(database, f"UPDATE audit SET detail = CAST('{text}' AS {kind}) WHERE sequence = 2")
    assert [(fault.sequence, fault.reason) for fault in await check(log)] == [(2, "it was changed")]


async def test_detail_that_is_not_json_any_more_is_detected_and_listed(database: Database) -> None:
    log = await fill(database)
    value = "X'FF00'" if database.dialect is Dialect.SQLITE else "decode('FF00', 'hex')"
    await as_administrator(database, f"UPDATE audit SET detail = {value} WHERE sequence = 2")
    assert [fault.sequence for fault in await check(log)] == [2]
    assert "damaged" in (await log.read_latest())[-2].detail


@pytest.mark.parametrize("place", [1, 4])
async def test_entry_removed_from_the_middle_is_detected(database: Database, place: int) -> None:
    log = await fill(database)
    await as_administrator(database, f"DELETE FROM audit WHERE sequence = {place}")
    assert [(fault.sequence, fault.reason) for fault in await check(log)] == [(place, f"entry {place} is missing")]


async def test_entry_removed_and_the_others_renumbered_is_detected(database: Database) -> None:
    log = await fill(database)
    moves = [f"UPDATE audit SET sequence = {place - 1} WHERE sequence = {place}" for place in range(5, COUNT + 1)]
    await as_administrator(
        database, "DELETE FROM audit WHERE sequence = 4", *moves, f"UPDATE audit_chain SET sequence = {COUNT - 1}"
    )
    assert [(fault.sequence, fault.reason) for fault in await check(log)] == [
        (4, "it does not follow the entry before it")
    ]


async def test_end_that_was_cut_off_is_detected_by_the_stored_head(database: Database) -> None:
    log = await fill(database)
    await as_administrator(database, f"DELETE FROM audit WHERE sequence > {COUNT - 2}")
    (fault,) = await check(log)
    assert fault.sequence == COUNT - 1


async def test_end_that_was_cut_off_with_its_head_is_detected_by_an_exported_head(database: Database) -> None:
    log = await fill(database)
    (head,) = await log.read_heads()
    exported = {head.chain: {head.sequence: head.hash}}
    assert await check(log, exported) == []
    before = (await log.read_chain(head.chain, COUNT - 3, 1)).entries[0]
    await as_administrator(
        database,
        f"DELETE FROM audit WHERE sequence > {before.sequence}",
        f"UPDATE audit_chain SET sequence = {before.sequence}, hash = '{before.hash}'",
    )
    assert await check(log) == []  # nothing that is left shows it
    (fault,) = await check(log, exported)
    assert (fault.sequence, f"entry {COUNT} was exported" in fault.reason) == (COUNT - 1, True)


async def test_chain_that_was_recomputed_is_detected_by_an_exported_head(database: Database) -> None:
    log = await fill(database)
    (head,) = await log.read_heads()
    await as_administrator(database, "DELETE FROM audit", "DELETE FROM audit_chain")

    def restored_triggers() -> Transaction[None]:
        if database.dialect is Dialect.POSTGRESQL:
            yield Query("t.on", "ALTER TABLE audit ENABLE TRIGGER USER")()
        else:
            yield Query(
                "t.on",
                "CREATE TRIGGER audit_moves_head AFTER INSERT ON audit BEGIN UPDATE audit_chain SET sequence = NEW.sequence,"
                " hash = NEW.hash WHERE chain = NEW.chain AND sequence = NEW.sequence - 1; END",
            )()

    await database.write(restored_triggers)
    log = await fill(database)
    assert await check(log) == []
    (fault,) = await check(log, {head.chain: {head.sequence: head.hash}})
    assert (fault.sequence, fault.reason) == (COUNT, "it is not the entry that was exported as the head")
    # A chain that is gone altogether.
    (gone,) = await check(log, {"another": {3: head.hash}})
    assert (gone.chain, gone.sequence) == ("another", 1)


async def test_entries_that_changed_places_are_detected(database: Database) -> None:
    log = await fill(database)
    swap = ("UPDATE audit SET sequence = 100 WHERE sequence = 2", "UPDATE audit SET sequence = 2 WHERE sequence = 5")
    await as_administrator(database, *swap, "UPDATE audit SET sequence = 5 WHERE sequence = 100")
    (fault,) = await check(log)
    assert (fault.sequence, fault.reason) == (2, "it does not follow the entry before it")


async def test_entries_whose_contents_changed_places_are_detected(database: Database) -> None:
    log = await fill(database)
    columns = ("actor", "action", "target", "detail")
    values = ", ".join(
        f"{column} = (SELECT {column} FROM audit AS other WHERE other.sequence = 7 - audit.sequence)"
        for column in columns
    )
    await as_administrator(database, f"UPDATE audit SET {values} WHERE sequence IN (2, 5)")
    (fault,) = await check(log)
    assert (fault.sequence, fault.reason) == (2, "it was changed")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET actor = 'nobody' WHERE sequence = 1",
        "UPDATE audit SET actor = actor",
        "DELETE FROM audit WHERE sequence = 1",
        "DELETE FROM audit",
        "DELETE FROM audit_chain",
        "UPDATE audit_chain SET sequence = 1",
        "UPDATE audit_chain SET hash = ''",
        "UPDATE audit_chain SET chain = 'another'",
    ],
)
async def test_database_refuses_to_change_the_log(database: Database, statement: str) -> None:
    log = await fill(database)

    def change() -> Transaction[None]:
        yield Query("t.change", statement)()

    with pytest.raises(ConflictError) as caught:
        await database.write(change)
    assert "audit log" in caught.value.message
    assert await check(log) == []


async def test_truncation_of_the_table_is_refused(database: Database) -> None:
    if database.dialect is not Dialect.POSTGRESQL:
        pytest.skip("SQLite has no TRUNCATE")
    log = await fill(database)

    def truncate() -> Transaction[None]:
        yield Query("t.truncate", "TRUNCATE audit, audit_chain")()

    with pytest.raises(ConflictError):
        await database.write(truncate)
    assert await check(log) == []


@pytest.fixture
async def servers(location: Location, clock: ManualClock) -> AsyncIterator[list[Database]]:
    """Two servers on two hosts, and a second worker of the first one."""
    names = ("one.example.com/1", "one.example.com/2", "two.example.com")
    opened = [await connect(location, clock=clock, process_name=name) for name in names]
    yield opened
    for database in opened:
        await database.close()


async def test_servers_that_write_concurrently_have_a_chain_each(servers: list[Database]) -> None:
    logs = [log_of(database) for database in servers]

    async def write(number: int) -> None:
        at = number % len(servers)
        await servers[at].write(logs[at].add, "person:ann", "run.start", f"{number}")

    await asyncio.gather(*(write(number) for number in range(90)))
    heads = await logs[0].read_heads()
    assert [(head.chain, head.sequence) for head in heads] == [
        (database.process_name, 30) for database in sorted(servers, key=lambda database: database.process_name)
    ]
    assert await check(logs[0]) == []


async def test_processes_that_share_a_name_share_a_chain(location: Location, clock: ManualClock) -> None:
    """As commands on the host of a server do."""
    opened = [await connect(location, clock=clock, process_name="same") for _ in range(2)]
    logs = [log_of(database) for database in opened]
    await asyncio.gather(
        *(
            opened[number % 2].write(logs[number % 2].add, "person:ann", "run.start", f"{number}")
            for number in range(60)
        )
    )
    assert [head.sequence for head in await logs[0].read_heads()] == [60]
    assert await check(logs[0]) == []
    for database in opened:
        await database.close()


async def test_server_does_not_wait_for_the_open_transaction_of_another(servers: list[Database]) -> None:
    """On SQLite all writers wait for each other, with and without an audit log."""
    if servers[0].dialect is Dialect.SQLITE:
        pytest.skip("SQLite has one writer at a time")
    logs = [log_of(database) for database in servers]
    for database, log in zip(servers, logs, strict=True):  # the chains exist
        await database.write(log.add, "person:ann", "run.start", "")
    is_held, may_end = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    held = asyncio.create_task(_hold(servers[0], logs[0], is_held, may_end, loop))
    await is_held.wait()
    async with asyncio.timeout(20):
        await servers[2].write(logs[2].add, "person:bob", "run.start", "meanwhile")
    may_end.set()
    await held
    assert await check(logs[0]) == []


async def _hold(
    database: Database, log: AuditLog, is_held: asyncio.Event, may_end: asyncio.Event, loop: asyncio.AbstractEventLoop
) -> None:
    """Add an entry, and keep the transaction open until `may_end` is set."""

    def add() -> Transaction[None]:
        yield from log.add("person:ann", "run.start", "held")
        is_held.set()
        for _ in range(2000):
            if may_end.is_set():
                return
            yield Query("t.wait", "SELECT pg_sleep(0.01)")()

    await database.write(add)


async def test_transaction_that_fails_leaves_no_entry_and_no_gap(database: Database) -> None:
    log = await fill(database, 2)

    def fail() -> Transaction[None]:
        yield from log.add("person:ann", "run.start", "never")
        raise ValueError("as any error of a transaction")

    results = await asyncio.gather(
        database.write(log.add, "person:ann", "run.start", "before"),
        database.write(fail),
        database.write(log.add, "person:ann", "run.start", "after"),
        return_exceptions=True,
    )
    assert [isinstance(result, Exception) for result in results] == [False, True, False]
    assert [entry.target for entry in await log.read_latest()] == ["after", "before", "web2", "web1"]
    assert await check(log) == []


# entries of machines


async def test_entries_of_a_node_are_limited_and_the_rest_is_counted(database: Database, clock: ManualClock) -> None:
    log = log_of(database)
    most = audit_store.MAX_OF_NODE
    for number in range(most + 15):
        await database.write(log.add, "node:web1", "session.clone", "web1", number=number)
        await database.write(log.add, "node:web2", "session.clone", "web2") if number < 2 else None
        await database.write(log.add, "person:ann", "run.start", "all")
    actors = [entry.actor for entry in await log.read_latest(limit=500)]
    assert (actors.count("node:web1"), actors.count("node:web2")) == (most, 2)
    assert actors.count("person:ann") == most + 15  # what people do is never only counted
    clock.advance(audit_store.HOUR_S)
    # Whichever machine comes next, the count of the past hour becomes an entry.
    await database.write(log.add, "node:db1", "certificate.renew", "db1")
    omitted = [entry for entry in await log.read_latest(limit=2) if entry.action == "audit.omit"]
    assert [(entry.actor, entry.target, entry.detail["count"]) for entry in omitted] == [("system", "node:web1", 15)]
    await database.write(log.add, "node:web1", "session.clone", "web1")
    assert [entry.actor for entry in await log.read_latest(limit=2)] == ["node:web1", "node:db1"]
    assert await check(log) == []


async def test_node_that_goes_on_after_an_hour_has_its_own_count_written(
    database: Database, clock: ManualClock
) -> None:
    log = log_of(database)
    for _ in range(audit_store.MAX_OF_NODE + 3):
        await database.write(log.add, "node:web1", "session.clone", "web1")
    clock.advance(audit_store.HOUR_S)
    await database.write(log.add, "node:web1", "session.clone", "web1")
    newest, omitted = await log.read_latest(limit=2)
    assert (newest.actor, omitted.action, omitted.detail["count"]) == ("node:web1", "audit.omit", 3)


async def test_entries_of_strangers_are_limited_together(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_store, "MAX_OF_STRANGERS", 10)
    log = log_of(database)
    for number in range(14):
        await database.write(log.add, f"address:192.0.2.{number}", "certificate.request", f"web{number}")
    assert len(await log.read_latest()) == 10
    clock.advance(audit_store.HOUR_S)
    await database.write(log.add, "address:192.0.2.1", "certificate.request", "web1")
    newest, omitted = await log.read_latest(limit=2)
    assert (newest.actor, omitted.target, omitted.detail["count"]) == ("address:192.0.2.1", "strangers", 4)


async def test_counts_of_past_hours_do_not_stay(database: Database, clock: ManualClock) -> None:
    log = log_of(database)
    for number in range(30):
        await database.write(log.add, f"node:web{number}", "certificate.renew", "x")
    for _ in range(2):
        clock.advance(audit_store.HOUR_S)
        await database.write(log.add, "node:db1", "certificate.renew", "x")

    def count() -> Transaction[int]:
        return int((yield Query("t.count", "SELECT count(*) FROM audit_rate")())[0][0])

    assert await database.read(count) == 1


# backups


async def test_restored_log_is_intact_and_continues_its_chain(
    database: Database, empty_location: Location, clock: ManualClock, tmp_path: Path
) -> None:
    """What was written after the backup is lost, and an exported head shows that."""
    log = await fill(database, 3)
    (at_backup,) = await log.read_heads()
    await backup.take(database, tmp_path / "backup")
    await database.write(log.add, "person:ann", "run.start", "after the backup")
    (later,) = await log.read_heads()
    restored = await connect(empty_location, may_create=True, clock=clock)
    await backup.restore(restored, tmp_path / "backup")
    continued = log_of(restored)
    assert await continued.read_heads() == [at_backup]
    await restored.write(continued.add, "person:bob", "run.start", "after the restore")
    assert await check(continued) == []
    assert await check(continued, {at_backup.chain: {at_backup.sequence: at_backup.hash}}) == []
    (fault,) = await check(continued, {later.chain: {later.sequence: later.hash}})
    assert (fault.sequence, fault.reason) == (4, "it is not the entry that was exported as the head")
    # The restored database refuses changes as the first one did.
    with pytest.raises(ConflictError):
        await restored.write(delete_all)
    await restored.close()


def delete_all() -> Transaction[None]:
    yield Query("t.delete", "DELETE FROM audit")()
