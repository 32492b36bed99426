"""Checks a database as a careful operator would: is it intact, is it ours, and is an acknowledged write durable?"""

import enum
import os
from pathlib import Path

import msgspec

from precast.base.clock import SystemClock, to_micros
from precast.base.errors import PrecastError
from precast.store.engine import durability
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.schema.schema import Schema

LOW_SPACE_BYTES = 256 * 1024 * 1024
MAX_SKEW_S = 1.0

QUICK_CHECK = Query("check.quick_check", "PRAGMA quick_check(5)")
FOREIGN_KEYS = Query("check.foreign_keys", "PRAGMA foreign_key_check")
PING = Query("check.ping", "SELECT 1")
SYNCHRONOUS = Query("check.synchronous", "SELECT * FROM pragma_synchronous, pragma_journal_mode")


class Level(enum.Enum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    REFUSED = "refused"


class Finding(msgspec.Struct, frozen=True):
    """The result of one check."""

    level: Level
    text: str
    hint: str = ""


async def ping(database: Database) -> None:
    """Read from the database. Raises UnavailableError if it does not answer."""
    await database.read(_select_one)


async def inspect(database: Database) -> list[Finding]:
    """Run all checks on an open database. The engine has already refused an unsafe server when it connected."""
    schema = await _inspect_schema(database)
    if database.dialect is Dialect.SQLITE:
        return [*schema, *await database.read(_inspect_sqlite), *_inspect_file(Path(database.location))]
    return [*schema, *await database.read(_inspect_postgres)]


async def _inspect_schema(database: Database) -> list[Finding]:
    schema = Schema(database)
    try:
        await schema.verify()
    except PrecastError as error:
        return [Finding(Level.REFUSED, error.message, error.hint)]
    return [Finding(Level.OK, f"schema {(await schema.list_applied())[-1].number}")]


def _inspect_sqlite() -> Transaction[list[Finding]]:
    findings = []
    problems = [" ".join(row[0].split()) for row in (yield QUICK_CHECK()) if row[0] != "ok"]
    hint = "stop Precast and restore a backup to a new location with `precast db restore`"
    findings += [Finding(Level.REFUSED, f"damaged: {problem}", hint) for problem in problems]
    orphans = yield FOREIGN_KEYS()
    if orphans:
        findings.append(Finding(Level.REFUSED, f"{len(orphans)} rows of {orphans[0][0]} have no parent row", hint))
    if not findings:
        findings.append(Finding(Level.OK, "all pages and references are intact"))
    ((synchronous, journal),) = yield SYNCHRONOUS()
    is_durable = synchronous >= 2 and journal == "wal"
    level = Level.OK if is_durable else Level.REFUSED
    findings.append(Finding(level, f"journal mode {journal}, synchronous {synchronous} (2 is FULL)"))
    return findings


def _inspect_file(path: Path) -> list[Finding]:
    mode = path.stat().st_mode & 0o777
    space = os.statvfs(path.parent)
    free_bytes = space.f_bavail * space.f_frsize
    findings = []
    if mode & 0o077:
        findings.append(Finding(Level.WARNING, f"others may open the file (mode {mode:o})", f"chmod 600 {path}"))
    if free_bytes < LOW_SPACE_BYTES:
        findings.append(
            Finding(
                Level.WARNING, f"only {free_bytes // 1024**2} MiB are free", "free some space before the disk is full"
            )
        )
    return findings


def _inspect_postgres() -> Transaction[list[Finding]]:
    settings = dict((yield from durability.read_settings()))
    findings = [
        Finding(Level.OK, f"{name} is {settings[name]}") for name in ("fsync", "full_page_writes", "synchronous_commit")
    ]
    if not durability.has_synchronous_standby(settings):
        text = "no synchronous standby: an acknowledged write is on one machine only"
        findings.append(
            Finding(Level.WARNING, text, "set synchronous_standby_names, or accept the risk and take backups")
        )
    skew_s = abs((yield from durability.read_now()) - to_micros(SystemClock().now())) / 1_000_000
    if skew_s > MAX_SKEW_S:
        text = f"the clock of the database differs from this machine's by {skew_s:.1f} s"
        findings.append(Finding(Level.WARNING, text, "keep both machines on NTP"))
    return findings


def _select_one() -> Transaction[None]:
    yield PING()
