"""The real `precast` command as a process, and the form of its error messages."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from precast.base.ids import CountedIds
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.engine.query import Query, Row, Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.store.identity.tokens import EnrolmentToken, PersonToken, Tokens
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.schema import backup
from precast.store.schema.schema import APPLIED, Schema
from precast.store.schema.tables import TABLES
from precast.store.sessions.streams import Streams

PRECAST = str(Path(sys.executable).with_name("precast"))
# Runs a command as an ordinary user, to whom file modes apply, also if the tests run as root; the files stay readable for the test.
ORDINARY = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
DEADLINE_S = 60

COMPILE = WorkKind("compile", max_attempts=1)


class CommandResult(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The test's environment without variables that would configure the command, with `extra`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PRECAST_", "PG"))}
    return {**inherited, **(extra or {})}


def run(*words: str | Path, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()) -> CommandResult:
    """Run `precast db …` to its end."""
    done = subprocess.run(
        [*prefix, PRECAST, "db", *map(str, words)],
        capture_output=True,
        check=False,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
    )
    return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())


def start(*words: str | Path) -> "subprocess.Popen[str]":
    """Start `precast db …`; `finish` waits for its result."""
    return subprocess.Popen(
        [PRECAST, "db", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> CommandResult:
    out, err = process.communicate(timeout=DEADLINE_S)
    return CommandResult(process.returncode, out, err)


def assert_refused(ran: CommandResult, exit_code: int, code: str, text: str = "") -> None:
    """The command printed one line with the error code and one line with a hint, and nothing else."""
    lines = ran.err.splitlines()
    assert (ran.code, ran.out, len(lines)) == (exit_code, "", 2), ran
    assert re.fullmatch(rf"precast: error: .+ \[{code}\]", lines[0]), ran
    assert re.fullmatch(r"  hint: .+", lines[1]), ran
    assert text in lines[0]


def assert_fine(ran: CommandResult) -> None:
    assert (ran.code, ran.err) == (0, ""), ran


def address(location: Location) -> str:
    """The location for the command line: str() of it would omit the password."""
    return location.url if isinstance(location, PostgresLocation) else str(location.path)


def make(path: Path) -> Path:
    """Create a migrated SQLite database, faster than the command does."""
    asyncio.run(_make(path))
    return path


async def _make(path: Path) -> None:
    database = await connect(SqliteLocation(path), may_create=True)
    await Schema(database).expand()
    await database.close()


def back_up(path: Path, file: Path) -> None:
    """Back up a SQLite database, faster than the command does."""
    asyncio.run(_back_up(path, file))


async def _back_up(path: Path, file: Path) -> None:
    database = await connect(SqliteLocation(path))
    await backup.take(database, file)
    await database.close()


def fill(location: Location) -> None:
    """Write rows through the store: work, streams, certificates, tokens and audit entries."""
    asyncio.run(_fill(location))


async def _fill(location: Location) -> None:
    database = await connect(location)
    queue = WorkQueue(database, [COMPILE, WorkKind("deliver")])
    await queue.enqueue("compile", "dead", b"\x00\xff")
    (claim,) = await queue.claim("compile", "worker", limit=1, lease_s=60)
    await queue.fail(claim, "it wasn’t\nto be")
    await queue.enqueue("compile", "held", b"h")
    await queue.claim("compile", "worker-2", limit=1, lease_s=3600)
    later = database.clock.now() + timedelta(days=1)
    for number in range(3):
        await queue.enqueue("deliver", f"knöten{number}", bytes([number]), due_at=later)
    await Streams(database).append("events", [bytes([number]) * 300 for number in range(256)])
    await Streams(database).trim("events", 6)
    await database.write(_fill_identity, database)
    await database.close()


def _fill_identity(database: Database) -> Transaction[None]:
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


COUNTS = {
    **{table.name: 0 for table in TABLES},
    "work_item": 4,
    "work_dead": 1,
    "node": 1,
    "certificate": 1,
    "enrolment_token": 1,
    "person_token": 1,
    "audit_chain": 1,
    "audit": 1,
    "stream": 1,
    "stream_record": 250,
}


def contents(location: Location) -> dict[str, list[Row]]:
    """Every row of every table, and of the list of migrations if there is one."""
    return asyncio.run(_contents(location))


async def _contents(location: Location) -> dict[str, list[Row]]:
    database = await connect(location)
    rows = await database.read(_read_all)
    await database.close()
    return rows


def _read_all() -> Transaction[dict[str, list[Row]]]:
    rows = {}
    for table in TABLES:
        rows[table.name] = [tuple(row) for row in (yield table.first_page(10_000))]
    rows["schema_migration"] = [row[:3] for row in (yield APPLIED())]
    return rows


def execute(location: Location, sql: str) -> None:
    """Run a statement directly on a database."""
    asyncio.run(_execute(location, sql))


async def _execute(location: Location, sql: str) -> None:
    def execute_sql() -> Transaction[None]:
        yield Query("test.execute", sql)()

    database = await connect(location)
    await database.write(execute_sql)
    await database.close()


def names_in(directory: Path) -> list[str]:
    return sorted(item.name for item in directory.iterdir())
