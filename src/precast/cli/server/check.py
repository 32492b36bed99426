"""`precast server check`: how the server confines untrusted code, and how it reaches its database."""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from precast.app.settings import ServerSettings
from precast.base.confinement.confine import Measure
from precast.cli.console.output import print_json, print_table
from precast.cli.console.settings import load_settings

if TYPE_CHECKING:
    from precast.app.confinement import ConfinedProcess

Row = tuple[str, str, str, str]


def run_check(args: argparse.Namespace) -> int:
    from precast.app import confinement
    from precast.app.signer.check import describe_signer

    settings = load_settings(ServerSettings, args).values
    processes = asyncio.run(confinement.describe(settings))
    connection = _describe_connection(settings.location)
    keys, answers = asyncio.run(describe_signer(settings))
    if args.json:
        shown = {"level": settings.confinement.value, "processes": processes, "database": connection, "signer": keys}
        print_json(msgspec.to_builtins(shown))
    else:
        rows = [
            (name, measure.name, "yes" if measure.is_enforced else "no", measure.how)
            for name, measure in (("database", connection), ("signer", keys))
        ]
        print_table(["PROCESS", "RESTRICTS", "IN FORCE", "HOW"], [*_rows(processes), *rows])
    return 1 if any(process.trouble for process in processes) or not answers else 0


def _describe_connection(text: str) -> Measure:
    """How the connection to the database is protected. Raises InputError STORE-001."""
    from precast.store.engine import location, postgres_tls

    parsed = location.parse(text)
    if isinstance(parsed, location.SqliteLocation):
        return Measure("connection", True, "a file on this machine")
    return Measure("connection", not postgres_tls.find_weakness(parsed), postgres_tls.describe(parsed))


def _rows(processes: "Sequence[ConfinedProcess]") -> Iterator[Row]:
    for process in processes:
        if process.trouble:
            yield process.name, "everything", "no", process.trouble
        for measure in process.measures:
            yield process.name, measure.name, "yes" if measure.is_enforced else "no", measure.how
