"""`precast db`: commands that work directly on the server's database."""

import argparse
import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from precast.app.settings import ServerSettings
from precast.app.shared_services import build_clock_guard
from precast.base.errors import PrecastError
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.cli.console.settings import add_settings, load_settings
from precast.cli.server import backup
from precast.cli.server.clock import show_clock
from precast.cli.server.database import opened_at
from precast.cli.server.term import raise_database_term, read_term
from precast.store import issues
from precast.store.engine import location
from precast.store.engine.database import Database
from precast.store.engine.location import Location
from precast.store.queue.kinds import DeadLetter, WaitingItem, WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.schema.check import Finding, Level, inspect
from precast.store.schema.schema import Schema

PAGE = 500

Command = Callable[[argparse.Namespace], Coroutine[None, None, int]]


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    def add(name: str, command: Command, summary: str, *settings: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_settings(added, ServerSettings, "data", "database", *settings)
        added.add_argument("--json", action="store_true", help="print one JSON document")
        added.set_defaults(run=lambda args: asyncio.run(command(args)))
        return added

    migrate = add("migrate", _migrate, "create the database, or migrate its schema to this version of Precast")
    migrate.add_argument(
        "--contract",
        action="store_true",
        help="also remove what only servers of earlier versions need: these stop working",
    )
    declare_exits(
        add("check", _check, "check for damage, settings that can lose data, and an incompatible schema"),
        {1: "the check found a problem that must be repaired"},
    )
    summary = "write the database and the keys of the site into one new, encrypted file, while servers may run"
    backup.add_backup_options(add("backup", backup.back_up, summary, "signer", "secrets_key"))
    summary = (
        "fill a new, empty database from a backup of SQLite or PostgreSQL, and put the keys of the site in their place"
    )
    backup.add_restore_options(add("restore", backup.restore, summary, "signer", "secrets_key"))
    summary = "create a key pair for backups: the private key into a new file, the public key is printed"
    keygen = commands.add_parser("keygen", help=summary, description=summary)
    keygen.add_argument("file", metavar="FILE", type=Path)
    keygen.add_argument("--json", action="store_true", help="print one JSON document")
    keygen.set_defaults(run=backup.keygen)
    clock = add("clock", _clock, "show the time that this site last trusted, or confirm that the clock is right")
    clock.add_argument(
        "--confirm", action="store_true", help="trust the clock as it is now: old data is deleted by it again"
    )
    declare_exits(clock, {1: "the clock is not trusted"})
    summary = "declare this database the newest of the site: nodes that have seen another one connect again"
    term = add("raise-term", _raise_term, summary)
    term.add_argument("seen", metavar="TERM", type=read_term, help="the term that nodes have seen, as the error says")
    work = add("work", _work, "show the work queue: how many items wait, are claimed, or are dead letters")
    choice = work.add_mutually_exclusive_group()
    choice.add_argument("--items", action="store_true", help="list the items that wait or are claimed")
    choice.add_argument("--dead", action="store_true", help="list the dead letters")
    choice.add_argument("--requeue", nargs=2, type=_text, metavar=("KIND", "KEY"), help="try a dead letter again")


async def _raise_term(args: argparse.Namespace) -> int:
    async with _opened(args) as database:
        return await raise_database_term(args, database)


async def _migrate(args: argparse.Namespace) -> int:
    async with _opened(args, may_create=True) as database:
        schema = Schema(database)
        expanded = await schema.expand()
        contracted = await schema.contract() if args.contract else []
        version = (await schema.list_applied())[-1].number
        if args.json:
            print_json(
                {
                    "schema": version,
                    "expanded": [migration.number for migration in expanded],
                    "contracted": [migration.number for migration in contracted],
                }
            )
            return 0
        for migration in expanded:
            print(f"expanded to schema {migration.number}: {migration.name}")
        for migration in contracted:
            print(f"contracted schema {migration.number}: {migration.name}")
        if not expanded and not contracted:
            print(f"nothing to do: {database.location} has schema {version}")
    return 0


async def _check(args: argparse.Namespace) -> int:
    try:
        async with _opened(args) as database:
            findings = await inspect(database)
            if not any(finding.level is Level.REFUSED for finding in findings):  # the schema is complete
                findings += await _inspect_clock(args, database)
    except PrecastError as error:
        # `connect` refuses a database that would lose data, and damage may raise an error anywhere: here both are findings.
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


async def _inspect_clock(args: argparse.Namespace, database: Database) -> list[Finding]:
    judgement = await build_clock_guard(database, load_settings(ServerSettings, args).values).examine()
    return [] if judgement.is_trusted else [Finding(Level.WARNING, judgement.why, judgement.hint)]


async def _clock(args: argparse.Namespace) -> int:
    settings = load_settings(ServerSettings, args).values
    async with _opened(args) as database:
        await Schema(database).verify()
        return await show_clock(args, build_clock_guard(database, settings), database)


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
        print(f"requeued {kind} {key}" if is_requeued else f"{kind} {key} is already waiting, with newer data")
    return 0


async def _print_work(args: argparse.Namespace, queue: WorkQueue) -> None:
    counts = await queue.count_by_kind()
    if args.json:
        print_json(msgspec.to_builtins(counts))
        return
    rows = [(kind.kind, kind.waiting, kind.held, kind.dead, format_time(kind.oldest_at)) for kind in counts]
    print_table(["KIND", "WAITING", "CLAIMED", "DEAD", "OLDEST"], rows)


async def _print_items(args: argparse.Namespace, queue: WorkQueue) -> None:
    items: list[WaitingItem] = []
    while page := await queue.list_waiting((items[-1].kind, items[-1].key) if items else ("", ""), PAGE):
        items += page
    if args.json:
        print_json(msgspec.to_builtins(items))
        return
    rows = [
        (
            *(item.kind, item.key, item.owner, item.attempts),
            *(format_time(item.queued_at), format_time(item.ready_at), item.last_error),
        )
        for item in items
    ]
    print_table(["KIND", "KEY", "CLAIMED BY", "TRIES", "QUEUED", "READY", "LAST ERROR"], rows)


async def _print_dead(args: argparse.Namespace, queue: WorkQueue) -> None:
    letters: list[DeadLetter] = []
    while page := await queue.list_dead((letters[-1].kind, letters[-1].key) if letters else ("", ""), PAGE):
        letters += page
    if args.json:
        print_json(msgspec.to_builtins(letters))
        return
    rows = [
        (letter.kind, letter.key, letter.attempts, format_time(letter.died_at), letter.last_error) for letter in letters
    ]
    print_table(["KIND", "KEY", "TRIES", "DIED", "LAST ERROR"], rows)


def _text(word: str) -> str:
    """Check that a word of the command line, which may be any bytes, is text that a database can store."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{word!r} is not valid UTF-8") from None
    return word


def _location(args: argparse.Namespace) -> Location:
    return location.parse(load_settings(ServerSettings, args).values.location)


@asynccontextmanager
async def _opened(args: argparse.Namespace, *, may_create: bool = False) -> AsyncIterator[Database]:
    async with opened_at(_location(args), may_create=may_create) as database:
        yield database
