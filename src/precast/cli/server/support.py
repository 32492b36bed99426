"""`precast support-bundle`: what somebody who helps needs to know, in one file, without secrets.

Each part is collected by itself; what cannot be had is named in the bundle and does not stop the rest. Facts, catalogs and
payloads of waiting work stay out: they are the site's own.
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
import subprocess
import sys
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from precast import __version__
from precast.app.settings import ServerSettings, load_settings
from precast.base.errors import PrecastError
from precast.base.files import appearing
from precast.base.redaction import redact
from precast.cli import issues
from precast.cli.console.client import add_connection, connect
from precast.cli.console.output import print_json
from precast.cli.server.config import AREAS
from precast.store.engine import location
from precast.wire.identity.bodies import AuditRow
from precast.wire.nodes.status import StatusView

MAX_PART_BYTES = 5_000_000
DEEDS = 200
JOURNAL_LINES = 5000
JOURNAL_S = 20
UNITS = ("precast-server", "precast-agent")
PACKAGES = ("aiohttp", "asyncpg", "cryptography", "msgspec", "pyyaml", "uvloop", "websockets")

Part = Callable[[argparse.Namespace], str]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="default: precast-support-TIME.tar.gz in this directory"
    )
    parser.add_argument("--log", metavar="FILE", type=Path, action="append", default=[], help="also this log, its end")
    add_connection(parser)
    parser.set_defaults(run=_bundle)


def _bundle(args: argparse.Namespace) -> int:
    now = datetime.now(UTC)
    file: Path = args.file or Path(f"precast-support-{now:%Y%m%d-%H%M%S}.tar.gz")
    parts, missing = _collect(args)
    parts["missing.txt"] = "".join(f"{name}: {reason}\n" for name, reason in missing.items())
    try:
        with appearing(file) as draft:
            _write(draft, file.name.split(".")[0], parts, now)
    except FileExistsError:
        raise issues.NOT_WRITTEN.error(path=file, reason="it exists") from None
    except OSError as error:
        raise issues.NOT_WRITTEN.error(path=file, reason=error.strerror) from None
    if args.json:
        print_json({"file": str(file), "parts": sorted(parts), "missing": missing})
        return 0
    print(f"{file} holds {', '.join(sorted(parts))}")
    for name, reason in missing.items():
        print(f"left out {name}: {reason}")
    print("What looks like a secret was removed. It names nodes and people: look through it before you pass it on.")
    return 0


def _collect(args: argparse.Namespace) -> tuple[dict[str, str], dict[str, str]]:
    """Every part that can be had, and why others cannot."""
    makers: dict[str, Part] = {
        "versions.json": _versions,
        "configuration.json": _configuration,
        "status.json": _status,
        "metrics.txt": lambda args: connect(args).text("/metrics"),
        "audit.json": _audit,
        "database.json": _database,
        "journal.txt": _journal,
    }
    for number, path in enumerate(args.log, start=1):
        makers[f"log-{number}.txt"] = lambda _, path=path: _tail(path)  # type: ignore[misc] # bound now
    parts: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name, make in makers.items():
        try:
            parts[name] = redact(make(args))[-MAX_PART_BYTES:]
        except PrecastError as error:
            missing[name] = redact(f"{error.message} [{error.code}]")
        except (OSError, subprocess.SubprocessError) as error:
            missing[name] = redact(str(error))
    return parts, missing


def _versions(args: argparse.Namespace) -> str:
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return _json(
        {
            "precast": __version__,
            "python": sys.version,
            "platform": platform.platform(),
            "sqlite": sqlite3.sqlite_version,
            "packages": found,
        }
    )


def _configuration(args: argparse.Namespace) -> str:
    found: dict[str, Any] = {}
    for cls in AREAS:
        try:
            loaded = load_settings(cls, argparse.Namespace())
            found[cls.area.name] = [
                {"name": name, "value": value, "from": origin} for name, value, origin in loaded.rows()
            ]
        except PrecastError as error:
            found[cls.area.name] = f"{error.message} [{error.code}]"
    return _json(found)


def _status(args: argparse.Namespace) -> str:
    return _json(msgspec.to_builtins(connect(args).ask("GET", "/v1/status", StatusView)))


def _audit(args: argparse.Namespace) -> str:
    return _json(msgspec.to_builtins(connect(args).pages("/v1/audit", AuditRow, "id", "before", DEEDS)))


def _database(args: argparse.Namespace) -> str:
    """What the database itself says, if it is here and we may read it."""
    return _json(asyncio.run(_inspect(load_settings(ServerSettings, argparse.Namespace()).values.location)))


async def _inspect(where: str) -> dict[str, Any]:
    from precast.store.engine.connect import connect as open_database
    from precast.store.queue.queue import WorkQueue
    from precast.store.schema.check import inspect
    from precast.store.schema.schema import Schema

    database = await open_database(location.parse(where))
    try:
        return {
            "location": database.location,
            "migrations": msgspec.to_builtins(await Schema(database).applied()),
            "findings": msgspec.to_builtins(await inspect(database)),
            "work": msgspec.to_builtins(await WorkQueue(database, []).counts()),
        }
    finally:
        await database.close()


def _journal(args: argparse.Namespace) -> str:
    if shutil.which("journalctl") is None:
        raise FileNotFoundError("there is no journal here; name a log with --log")
    units = [word for unit in UNITS for word in ("-u", unit)]
    done = subprocess.run(
        ["journalctl", *units, "-n", str(JOURNAL_LINES), "--no-pager", "-o", "short-iso"],
        capture_output=True,
        check=True,
        timeout=JOURNAL_S,
    )
    return done.stdout.decode(errors="replace")


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
