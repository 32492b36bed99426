"""`precast db`: the server's database, worked on directly."""

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from precast.app.settings import ServerSettings, add_settings, load_settings
from precast.base.errors import PrecastError
from precast.base.files import appearing
from precast.cli.console.output import moment, print_json, print_table
from precast.cli.console.parser import says
from precast.store import issues
from precast.store.engine import location
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location, SqliteLocation
from precast.store.queue.kinds import DeadLetter, WaitingItem, WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.schema import backup
from precast.store.schema.check import Finding, Level, inspect
from precast.store.schema.schema import Schema

PAGE = 500

Command = Callable[[argparse.Namespace], Coroutine[None, None, int]]


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_settings(added, ServerSettings, "data", "database")
        added.add_argument("--json", action="store_true", help="print one JSON document")
        added.set_defaults(run=lambda args: asyncio.run(command(args)))
        return added

    migrate = add("migrate", _migrate, "create the database or bring its schema up to this program's")
    migrate.add_argument(
        "--contract",
        action="store_true",
        help="also remove what only servers of earlier releases need: they stop working",
    )
    says(
        add("check", _check, "look for damage, settings that lose data, and a schema that does not fit"),
        {1: "something is wrong that must not stay so"},
    )
    taking = add("backup", _backup, "write everything into one new file, beside running servers")
    taking.add_argument("file", metavar="FILE", type=Path)
    restoring = add("restore", _restore, "fill a new, empty database from a backup of SQLite or PostgreSQL")
    restoring.add_argument("file", metavar="FILE", type=Path)
    work = add("work", _work, "show the work queue: how much waits, is held, is dead")
    which = work.add_mutually_exclusive_group()
    which.add_argument("--items", action="store_true", help="list the items that wait or are held")
    which.add_argument("--dead", action="store_true", help="list the dead letters")
    which.add_argument("--requeue", nargs=2, type=_text, metavar=("KIND", "KEY"), help="try a dead letter again")


async def _migrate(args: argparse.Namespace) -> int:
    async with _opened(args, may_create=True) as database:
        schema = Schema(database)
        expanded = await schema.expand()
        contracted = await schema.contract() if args.contract else []
        now_at = (await schema.applied())[-1].number
        if args.json:
            print_json(
                {
                    "schema": now_at,
                    "expanded": [one.number for one in expanded],
                    "contracted": [one.number for one in contracted],
                }
            )
            return 0
        for one in expanded:
            print(f"expanded to schema {one.number}: {one.name}")
        for one in contracted:
            print(f"contracted schema {one.number}: {one.name}")
        if not expanded and not contracted:
            print(f"nothing to do: {database.location} has schema {now_at}")
    return 0


async def _check(args: argparse.Namespace) -> int:
    try:
        async with _opened(args) as database:
            findings = await inspect(database)
    except PrecastError as error:
        # A server that would lose data is refused when it is opened, and damage may show anywhere: here both are findings
        # like any other.
        if not issues.NOT_DURABLE.matches(error) and not issues.DAMAGED.matches(error):
            raise
        findings = [Finding(Level.REFUSED, error.message, error.hint)]
    if args.json:
        print_json(msgspec.to_builtins(findings))
    else:
        for finding in findings:
            hint = f"\n{'':9}hint: {finding.hint}" if finding.hint else ""
            print(f"{finding.level.value:8} {finding.text}{hint}")
    return 1 if any(finding.level is Level.REFUSED for finding in findings) else 0


async def _backup(args: argparse.Namespace) -> int:
    async with _opened(args) as database:
        counts = await backup.take(database, args.file)
    _print_counts(args, f"{args.file} holds", counts)
    return 0


async def _restore(args: argparse.Namespace) -> int:
    where = _location(args)
    with _new_if_missing(where) as place:
        async with _opened_at(place, may_create=True) as database:
            counts = await backup.restore(database, args.file)
    _print_counts(args, f"restored into {where}:", counts)
    return 0


@contextmanager
def _new_if_missing(where: Location) -> Iterator[Location]:
    """The database to restore into. A missing file gets its name when it is whole: so a failure leaves none behind, and a
    database that another process makes meanwhile is not touched."""
    if not isinstance(where, SqliteLocation) or os.path.lexists(where.path):
        yield where
        return
    try:
        with appearing(where.path) as draft:
            log, index = (Path(f"{draft}{suffix}") for suffix in ("-wal", "-shm"))
            try:
                yield SqliteLocation(draft)
                if log.exists():
                    raise issues.IO_FAILED.error(location=where, reason="its log could not be written into the file")
            finally:
                log.unlink(missing_ok=True)
                index.unlink(missing_ok=True)
    except FileExistsError:
        raise issues.NOT_EMPTY.error(location=where, table="it was made meanwhile") from None
    except OSError as error:
        raise issues.CANNOT_OPEN.error(location=where, reason=error.strerror) from error


async def _work(args: argparse.Namespace) -> int:
    async with _opened(args) as database:
        await Schema(database).verify()
        if args.requeue:
            return await _requeue(args, database)
        queue = WorkQueue(database, [])
        if args.dead:
            await _print_dead(args, queue)
        elif args.items:
            await _print_items(args, queue)
        else:
            await _print_work(args, queue)
    return 0


async def _requeue(args: argparse.Namespace, database: Database) -> int:
    kind, key = args.requeue
    is_requeued = await WorkQueue(database, [WorkKind(kind)]).requeue(kind, key)
    if args.json:
        print_json({"kind": kind, "key": key, "requeued": is_requeued})
    else:
        print(f"requeued {kind} {key}" if is_requeued else f"{kind} {key} is waiting already, with newer data")
    return 0


async def _print_work(args: argparse.Namespace, queue: WorkQueue) -> None:
    counts = await queue.counts()
    if args.json:
        print_json(msgspec.to_builtins(counts))
        return
    rows = [(one.kind, one.waiting, one.held, one.dead, moment(one.oldest_at)) for one in counts]
    print_table(["KIND", "WAITING", "HELD", "DEAD", "OLDEST"], rows)


async def _print_items(args: argparse.Namespace, queue: WorkQueue) -> None:
    items: list[WaitingItem] = []
    while page := await queue.waiting((items[-1].kind, items[-1].key) if items else ("", ""), PAGE):
        items += page
    if args.json:
        print_json(msgspec.to_builtins(items))
        return
    rows = [
        (one.kind, one.key, one.owner, one.attempts, moment(one.queued_at), moment(one.ready_at), one.last_error)
        for one in items
    ]
    print_table(["KIND", "KEY", "HELD BY", "TRIES", "QUEUED", "READY", "LAST ERROR"], rows)


async def _print_dead(args: argparse.Namespace, queue: WorkQueue) -> None:
    letters: list[DeadLetter] = []
    while page := await queue.dead((letters[-1].kind, letters[-1].key) if letters else ("", ""), PAGE):
        letters += page
    if args.json:
        print_json(msgspec.to_builtins(letters))
        return
    rows = [(one.kind, one.key, one.attempts, moment(one.died_at), one.last_error) for one in letters]
    print_table(["KIND", "KEY", "TRIES", "DIED", "LAST ERROR"], rows)


def _print_counts(args: argparse.Namespace, what: str, counts: dict[str, int]) -> None:
    if args.json:
        print_json(counts)
    else:
        filled = [f"{count} {table}" for table, count in counts.items() if count]
        print(what, ", ".join(filled) or "no rows")


def _text(word: str) -> str:
    """A word of the command line, which may be any bytes, as the text that a database can hold."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{word!r} is no text in UTF-8") from None
    return word


def _location(args: argparse.Namespace) -> Location:
    return location.parse(load_settings(ServerSettings, args).values.location)


@asynccontextmanager
async def _opened(args: argparse.Namespace, *, may_create: bool = False) -> AsyncIterator[Database]:
    async with _opened_at(_location(args), may_create=may_create) as database:
        yield database


@asynccontextmanager
async def _opened_at(where: Location, *, may_create: bool = False) -> AsyncIterator[Database]:
    database = await connect(where, may_create=may_create)
    try:
        yield database
    except asyncio.CancelledError:
        # Ctrl-C: nobody wants to wait for a lock any more. What was not committed is not stored.
        await database.abandon()
        raise
    finally:
        await database.close()
