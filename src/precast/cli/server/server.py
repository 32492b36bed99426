"""`precast server`: make a server's authority and database once, then serve."""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from precast.app.settings import API, Address, ServerSettings, add_settings, load_settings
from precast.app.supervision import Supervisor, Worker
from precast.cli import issues
from precast.cli.console.output import print_json


class Initialised(NamedTuple):
    """What `init` has made."""

    fingerprint: str
    authority: Path
    token: str
    # How many certificates came from Puppet, and lines about those that did not.
    imported: int = 0
    left_out: Sequence[str] = ()


class ServerApp(Protocol):
    """What this group needs of the rest."""

    async def initialise(self, settings: ServerSettings, admin: str, puppet_ca: Path | None) -> Initialised:
        """Make authority, database and one admin token; take a Puppet authority over."""

    async def create_admin(self, settings: ServerSettings, admin: str) -> str:
        """Make another admin token."""

    async def serve(
        self, settings: ServerSettings, worker: Worker | None, started: Callable[[Address | None], None]
    ) -> None:
        """Do what the roles say until told to stop, alone or as one of several processes."""


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="[COMMAND]", dest="command")
    init = commands.add_parser(
        "init", help="make authority, database and one admin token", description="Once for a site."
    )
    add_settings(init, ServerSettings, "data", "database")
    init.add_argument("--admin", metavar="NAME", default="admin", help="whom the first token is for (default: admin)")
    init.add_argument(
        "--import-puppet-ca",
        metavar="DIR",
        type=Path,
        help="know the agents of a Puppet server by the certificates they have (`puppet config print cadir`)",
    )
    init.add_argument("--json", action="store_true", help="print one JSON document")
    init.set_defaults(run=_init)
    admin = commands.add_parser(
        "admin",
        help="make another admin token",
        description="On the server itself, for whoever may use its database: when the first token is lost.",
    )
    add_settings(admin, ServerSettings, "data", "database")
    admin.add_argument("--admin", metavar="NAME", default="admin", help="whom the token is for (default: admin)")
    admin.add_argument("--json", action="store_true", help="print one JSON document")
    admin.set_defaults(run=_admin)
    add_settings(parser, ServerSettings)
    parser.set_defaults(run=_serve)


def _init(args: argparse.Namespace) -> int:
    app: ServerApp = args.app()
    settings = load_settings(ServerSettings, args).values
    made = asyncio.run(app.initialise(settings, args.admin, args.import_puppet_ca))
    if args.json:
        printed = {"fingerprint": made.fingerprint, "authority": str(made.authority), "token": made.token}
        print_json({**printed, "imported": made.imported, "left_out": list(made.left_out)})
        return 0
    print(f"authority    {made.authority}")
    print(f"fingerprint  {made.fingerprint}")
    print(f"admin token  {made.token}")
    if args.import_puppet_ca:
        print(f"from Puppet  {made.imported} certificates")
    for line in made.left_out:
        print(f"left out     {line}")
    print()
    print("The token is shown this once. To use it:")
    print(f"  export PRECAST_CA={made.authority} PRECAST_URL=https://localhost:8140 PRECAST_TOKEN=…")
    return 0


def _admin(args: argparse.Namespace) -> int:
    app: ServerApp = args.app()
    token = asyncio.run(app.create_admin(load_settings(ServerSettings, args).values, args.admin))
    if args.json:
        print_json({"token": token})
    else:
        print(token)
    return 0


def _serve(args: argparse.Namespace) -> int:
    try:
        import uvloop
    except ImportError:
        raise issues.NO_SERVER_PARTS.error() from None
    app: ServerApp = args.app()
    settings = load_settings(ServerSettings, args).values
    worker = None

    def say(address: Address | None) -> None:
        print(f"serving on https://{address}" if address else f"working as {', '.join(settings.roles)}", flush=True)

    if settings.workers > 1:
        became = Supervisor(settings.workers, settings.listen if API in settings.roles else None).run(say)
        if isinstance(became, int):
            return became
        worker = became
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(app.serve(settings, worker, say))
    return 0
