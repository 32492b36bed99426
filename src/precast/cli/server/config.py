"""`precast config`: shows each setting, its value, and the source of the value."""

import argparse
import os
import sys
from pathlib import Path

from precast.agent.settings import AgentSettings
from precast.app.settings import ServerSettings
from precast.app.signer.settings import SignerSettings
from precast.base.settings import Settings, unknown_variables
from precast.base.spans import visible
from precast.boot.settings import BootSettings
from precast.cli.console.output import print_json, print_table
from precast.cli.console.settings import ClientSettings, add_settings, load_settings

AREAS: tuple[type[Settings], ...] = (ServerSettings, SignerSettings, ClientSettings, AgentSettings, BootSettings)
# Variables that are not settings: one is for a single command, one for debugging.
OTHER_VARIABLES = {"PRECAST_DEBUG", "PRECAST_ENROL_TOKEN"}


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    summary = "show each setting and the source of its value; secrets are hidden"
    show = commands.add_parser("show", help=summary, description=summary)
    show.add_argument("--json", action="store_true", help="print one JSON document")
    show.set_defaults(run=_show, areas=AREAS)
    programs = show.add_subparsers(title="programs", metavar="[PROGRAM]", dest="program")
    for cls in AREAS:
        summary = f"show the settings of the {cls.area.name}, as these flags would set them"
        program = programs.add_parser(cls.area.name, help=summary, description=summary)
        add_settings(program, cls)
        if cls in (AgentSettings, BootSettings):
            program.add_argument("--root", metavar="DIR", type=Path, default=Path("/"), help="put every path below DIR")
        program.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON document")
        program.set_defaults(areas=(cls,))


def _show(args: argparse.Namespace) -> int:
    rows = [
        (cls.area.name, *row)
        for cls in args.areas
        for row in load_settings(cls, args if len(args.areas) == 1 else argparse.Namespace()).rows()
    ]
    if args.json:
        print_json(
            [{"program": area, "name": name, "value": value, "from": origin} for area, name, value, origin in rows]
        )
    else:
        print_table(["PROGRAM", "SETTING", "VALUE", "FROM"], [(*row[:2], row[2] or None, row[3]) for row in rows])
    for line in unknown_variables(AREAS, os.environ, OTHER_VARIABLES):
        print(f"precast: warning: {visible(line)}", file=sys.stderr)
    return 0
