"""Lines that a commit writes to the log: what is stored is logged once, what is not is not, and a failing database is named once."""

import asyncio
import logging

import pytest

from precast.base.errors import ConflictError, PrecastError
from precast.base.ids import CountedIds
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.group_commit import GroupCommit
from precast.store.engine.interface import DatabaseFailed, Engine, TransactionResult
from precast.store.engine.query import Notice, Query, Transaction
from precast.store.identity.audit import AuditLog

READ = Query("test.read", "SELECT 1")


def note(text: str, *, fails: bool = False) -> Transaction[None]:
    yield READ()
    yield Notice("test", text)
    if fails:
        raise issues.CONSTRAINT.error(reason="it must fail")


async def test_notice_of_a_commit_is_logged_once_and_of_a_failed_one_not_at_all(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "precast.changes")

    async def fail() -> None:
        with pytest.raises(ConflictError):
            await database.write(lambda: note("failed", fails=True))

    # One of a group fails, so the others are committed again, in other groups.
    await asyncio.gather(*(database.write(note, f"stored {number}") for number in range(5)), fail())
    assert sorted(caplog.messages) == [f"stored {number}" for number in range(5)]


async def test_words_of_a_command_and_parameters_of_classes_are_in_the_audit_log_alone(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "precast.changes")
    log = AuditLog(database, CountedIds())
    detail = {"argv": ["mysql", "-pgeheim"], "after": {"parameters": {"password": "geheim"}}, "run": "r1", "count": 0}
    await database.write(lambda: log.add("person:ann", "command.run", "web1", why="a test", **detail))
    assert caplog.messages == ["person:ann command.run web1 why=a test run=r1 count=0"]
    (entry,) = await log.read_latest()
    assert entry.detail == {**detail, "why": "a test"}


class FailingEngine:
    """An engine whose database fails as long as there are errors left."""

    gather_s = 0.0

    def __init__(self, errors: list[PrecastError]) -> None:
        self._errors = errors

    async def transact(self, factories: object) -> list[TransactionResult]:
        if self._errors:
            raise DatabaseFailed(self._errors.pop(0))
        return [TransactionResult(None, frozenset(), ())]


async def test_failing_database_is_logged_once_for_each_reason_and_when_it_works_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    full, lost = issues.DISK_FULL.error(location="x"), issues.CONNECTION_LOST.error(location="x", reason="gone")
    engine: Engine = FailingEngine([full, full, lost, full])  # type: ignore[assignment] # only what a commit needs
    commits = GroupCommit(engine, lambda topics: None, 1)
    commits.start()
    for _ in range(4):
        with pytest.raises(PrecastError):
            await commits.submit(lambda: note("x"))
    for _ in range(2):
        await commits.submit(lambda: note("x"))
    await commits.close()
    kinds = [(row.levelname, row.getMessage().partition(":")[0][:44]) for row in caplog.records]
    assert [kind for kind, _ in kinds] == ["ERROR", "ERROR", "WARNING"]
    assert ["STORE-006" in caplog.messages[0], "STORE-007" in caplog.messages[1]] == [True, True]
    assert caplog.messages[2].startswith("the database stores again")
