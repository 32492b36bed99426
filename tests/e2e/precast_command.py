"""The real `precast` as a process, and what every refusal of it looks like."""

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
from precast.store.identity.certificates import Certificate, Nodes
from precast.store.identity.tokens import EnrolmentToken, PersonToken, Tokens
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.schema import backup
from precast.store.schema.schema import APPLIED, Schema
from precast.store.schema.tables import TABLES
from precast.store.sessions.streams import Streams

PRECAST = str(Path(sys.executable).with_name("precast"))
# Somebody to whom file modes apply, also when the tests run as root; whose files are still ours.
ORDINARY = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
DEADLINE_S = 60

COMPILE = WorkKind("compile", max_attempts=1)


class Ran(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


def environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours without what would steer the command."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRECAST_", "PG"))}
    return {**kept, **(given or {})}


def run(*words: str | Path, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()) -> Ran:
    """Run `precast db …` to its end."""
    done = subprocess.run(
        [*prefix, PRECAST, "db", *map(str, words)],
        capture_output=True,
        check=False,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def start(*words: str | Path) -> "subprocess.Popen[str]":
    """Start `precast db …`; read it with `finish`."""
    return subprocess.Popen(
        [PRECAST, "db", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> Ran:
    out, err = process.communicate(timeout=DEADLINE_S)
    return Ran(process.returncode, out, err)


def assert_refused(ran: Ran, exit_code: int, code: str, text: str = "") -> None:
    """One line with the code, one line with a hint, nothing else anywhere."""
    lines = ran.err.splitlines()
    assert (ran.code, ran.out, len(lines)) == (exit_code, "", 2), ran
    assert re.fullmatch(rf"precast: error: .+ \[{code}\]", lines[0]), ran
    assert re.fullmatch(r"  hint: .+", lines[1]), ran
    assert text in lines[0]


def assert_fine(ran: Ran) -> None:
    assert (ran.code, ran.err) == (0, ""), ran


def address(location: Location) -> str:
    """The location as it is given to the command: str() of it has no password."""
    return location.url if isinstance(location, PostgresLocation) else str(location.path)


def make(path: Path) -> Path:
    """A migrated SQLite database, quicker than by the command."""
    asyncio.run(_make(path))
    return path


async def _make(path: Path) -> None:
    database = await connect(SqliteLocation(path), may_create=True)
    await Schema(database).expand()
    await database.close()


def back_up(path: Path, file: Path) -> None:
    """A backup of a SQLite database, quicker than by the command."""
    asyncio.run(_back_up(path, file))


async def _back_up(path: Path, file: Path) -> None:
    database = await connect(SqliteLocation(path))
    await backup.take(database, file)
    await database.close()


def fill(location: Location) -> None:
    """Rows in every table, made by the store itself."""
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
    await database.write(_filling, database)
    await database.close()


def _filling(database: Database) -> Transaction[None]:
    now = database.clock.now()
    yield from Nodes(database).taking("web1")
    yield from Nodes(database).adding(Certificate("a1", "web1", "digest", {"pp_role": "wéb"}, now, now))
    yield from Tokens(database).adding_enrolment(EnrolmentToken("e", bytes(range(32)), "web*", {}, 1, now), "ann")
    yield from Tokens(database).adding_person(PersonToken("p", bytes(range(32)), "ann", "admin", ["x"], now), "system")
    yield from AuditLog(database, CountedIds()).adding("system", "token.create", "p", person="ann")


COUNTS = {
    **{table.name: 0 for table in TABLES},
    "work_item": 4,
    "work_dead": 1,
    "node": 1,
    "certificate": 1,
    "enrolment_token": 1,
    "person_token": 1,
    "audit": 1,
    "stream": 1,
    "stream_record": 250,
}


def contents(location: Location) -> dict[str, list[Row]]:
    """Every row of every table, and of the list of migrations if there is one."""
    return asyncio.run(_contents(location))


async def _contents(location: Location) -> dict[str, list[Row]]:
    database = await connect(location)
    found = await database.read(_reading)
    await database.close()
    return found


def _reading() -> Transaction[dict[str, list[Row]]]:
    found = {}
    for table in TABLES:
        found[table.name] = [tuple(row) for row in (yield table.first_page(10_000))]
    found["schema_migration"] = [row[:3] for row in (yield APPLIED())]
    return found


def execute(location: Location, sql: str) -> None:
    """Change a database behind Precast's back."""
    asyncio.run(_execute(location, sql))


async def _execute(location: Location, sql: str) -> None:
    def unit() -> Transaction[None]:
        yield Query("test.execute", sql)()

    database = await connect(location)
    await database.write(unit)
    await database.close()


def names_in(directory: Path) -> list[str]:
    return sorted(item.name for item in directory.iterdir())
