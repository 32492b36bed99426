"""`precast support-bundle`: collects diagnostic data in one file, without secrets.

Each part is collected independently: if one cannot be collected, the bundle says why, and the others follow. Facts, catalogs and the
payloads of queued work are left out, because they are confidential.
"""

import argparse
import asyncio
import importlib.metadata
import io
import json
import os
import platform
import shutil
import sqlite3
import sys
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from precast import __version__
from precast.app.settings import ServerSettings
from precast.base import programs
from precast.base.errors import PrecastError
from precast.base.files import new_file
from precast.base.redaction import redact
from precast.cli import issues
from precast.cli.console.client import add_connection, connect
from precast.cli.console.output import print_json
from precast.cli.console.settings import load_settings
from precast.cli.server.config import AREAS
from precast.store.engine import location
from precast.wire.identity.bodies import AuditRow
from precast.wire.nodes.status import StatusView

MAX_PART_BYTES = 5_000_000
AUDIT_ENTRIES = 200
JOURNAL_LINES = 5000
JOURNAL_S = 20
UNITS = ("precast-server", "precast-agent")
PACKAGES = ("aiohttp", "asyncpg", "cryptography", "msgspec", "pyyaml", "uvloop", "websockets")

Collector = Callable[[argparse.Namespace], str]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="the bundle (default: precast-support-TIME.tar.gz in the current directory)",
    )
    parser.add_argument(
        "--log",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="also include the end of this log; may be repeated",
    )
    add_connection(parser)
    parser.set_defaults(run=_bundle)


def _bundle(args: argparse.Namespace) -> int:
    now = datetime.now(UTC)
    file: Path = args.file or Path(f"precast-support-{now:%Y%m%d-%H%M%S}.tar.gz")
    parts, missing = _collect(args)
    parts["missing.txt"] = "".join(f"{name}: {reason}\n" for name, reason in missing.items())
    try:
        with new_file(file) as draft:
            _write(draft, file.name.split(".")[0], parts, now)
    except FileExistsError:
        raise issues.NOT_WRITTEN.error(path=file, reason="it exists") from None
    except OSError as error:
        raise issues.NOT_WRITTEN.error(path=file, reason=error.strerror) from None
    if args.json:
        print_json({"file": str(file), "parts": sorted(parts), "missing": missing})
        return 0
    print(f"{file} contains {', '.join(sorted(parts))}")
    for name, reason in missing.items():
        print(f"left out {name}: {reason}")
    print(
        "Precast has removed what looks like a secret. The bundle names nodes and people: review it before you share it."
    )
    return 0


def _collect(args: argparse.Namespace) -> tuple[dict[str, str], dict[str, str]]:
    """Every part that can be collected, and the reasons why others cannot."""
    collectors: dict[str, Collector] = {
        "versions.json": _versions,
        "configuration.json": _configuration,
        "status.json": _status,
        "metrics.txt": lambda args: connect(args).fetch_text("/metrics"),
        "audit.json": _audit,
        "database.json": _database,
        "journal.txt": _journal,
    }
    for number, path in enumerate(args.log, start=1):
        collectors[f"log-{number}.txt"] = lambda _, path=path: _tail(path)  # type: ignore[misc] # bound now
    parts: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name, collect in collectors.items():
        try:
            parts[name] = redact(collect(args))[-MAX_PART_BYTES:]
        except PrecastError as error:
            missing[name] = redact(f"{error.message} [{error.code}]")
        except OSError as error:
            missing[name] = redact(str(error))
    return parts, missing


def _versions(args: argparse.Namespace) -> str:
    versions: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return _json(
        {
            "precast": __version__,
            "python": sys.version,
            "platform": platform.platform(),
            "sqlite": sqlite3.sqlite_version,
            "packages": versions,
        }
    )


def _configuration(args: argparse.Namespace) -> str:
    settings: dict[str, Any] = {}
    for cls in AREAS:
        try:
            loaded = load_settings(cls, argparse.Namespace())
            settings[cls.area.name] = [
                {"name": name, "value": value, "from": origin} for name, value, origin in loaded.rows()
            ]
        except PrecastError as error:
            settings[cls.area.name] = f"{error.message} [{error.code}]"
    return _json(settings)


def _status(args: argparse.Namespace) -> str:
    return _json(msgspec.to_builtins(connect(args).ask("GET", "/v1/status", StatusView)))


def _audit(args: argparse.Namespace) -> str:
    return _json(msgspec.to_builtins(connect(args).list_pages("/v1/audit", AuditRow, "id", "before", AUDIT_ENTRIES)))


def _database(args: argparse.Namespace) -> str:
    """The state of the database, if this machine can open it."""
    return _json(asyncio.run(_inspect(load_settings(ServerSettings, argparse.Namespace()).values.location)))


async def _inspect(database_location: str) -> dict[str, Any]:
    from precast.store.engine.connect import connect as open_database
    from precast.store.queue.queue import WorkQueue
    from precast.store.schema.check import inspect
    from precast.store.schema.schema import Schema

    database = await open_database(location.parse(database_location))
    try:
        return {
            "location": database.location,
            "migrations": msgspec.to_builtins(await Schema(database).list_applied()),
            "findings": msgspec.to_builtins(await inspect(database)),
            "work": msgspec.to_builtins(await WorkQueue(database, []).count_by_kind()),
        }
    finally:
        await database.close()


def _journal(args: argparse.Namespace) -> str:
    if shutil.which("journalctl") is None:
        raise FileNotFoundError("this machine has no journalctl; give a log file with --log")
    units = [word for unit in UNITS for word in ("-u", unit)]
    argv = ["journalctl", *units, "-n", str(JOURNAL_LINES), "--no-pager", "-o", "short-iso"]
    options = programs.StartOptions(environment=dict(os.environ), keeps_last=True)
    try:
        result = programs.run(argv, JOURNAL_S, MAX_PART_BYTES, options)
    except TimeoutError:
        raise OSError(f"journalctl did not end within {JOURNAL_S} s") from None
    if result.code != 0:
        reason = result.error.decode(errors="replace").strip()
        raise OSError(f"journalctl ended with {result.code}: {reason}")
    return result.out.decode(errors="replace")


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - MAX_PART_BYTES))
        return file.read(MAX_PART_BYTES).decode(errors="replace")


def _json(value: object) -> str:
    return json.dumps(value, indent=2, default=str) + "\n"


def _write(draft: Path, directory: str, parts: dict[str, str], now: datetime) -> None:
    with draft.open("wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name, text in sorted(parts.items()):
                data = text.encode(errors="backslashreplace")
                member = tarfile.TarInfo(f"{directory}/{name}")
                member.size, member.mode, member.mtime = len(data), 0o600, int(now.timestamp())
                archive.addfile(member, io.BytesIO(data))
        file.flush()
        os.fsync(file.fileno())
