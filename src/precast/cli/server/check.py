"""`precast server check`: how the server confines untrusted code, and how it reaches its database."""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from precast.app.settings import ServerSettings
from precast.cli.console.output import print_json, print_table
from precast.cli.console.settings import load_settings

if TYPE_CHECKING:
    from precast.app.confinement import ConfinedProcess

Row = tuple[str, str, str, str]


def run_check(args: argparse.Namespace) -> int:
    from precast.app import confinement

    settings = load_settings(ServerSettings, args).values
    processes = asyncio.run(confinement.describe(settings))
    if args.json:
        print_json({"level": settings.confinement.value, "processes": msgspec.to_builtins(processes)})
    else:
        print_table(["PROCESS", "RESTRICTS", "IN FORCE", "HOW"], list(_rows(processes)))
    return 1 if any(process.trouble for process in processes) else 0


def _rows(processes: "Sequence[ConfinedProcess]") -> Iterator[Row]:
    for process in processes:
        if process.trouble:
            yield process.name, "everything", "no", process.trouble
        for measure in process.measures:
            yield process.name, measure.name, "yes" if measure.is_enforced else "no", measure.how
