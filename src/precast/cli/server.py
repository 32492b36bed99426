"""`precast server`: make a server's authority and database once, then serve."""

import argparse
import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from precast.cli import issues
from precast.cli.output import print_json

DEFAULT_DATA = "/var/lib/precast"
DEFAULT_LISTEN = "127.0.0.1:8140"


class ServerSettings(NamedTuple):
    """Where a server lives and listens."""

    data: Path
    database: str
    host: str
    port: int
    names: list[str]
    admin: str


class Initialised(NamedTuple):
    """What `init` has made."""

    fingerprint: str
    authority: Path
    token: str


class ServerApp(Protocol):
    """What this group needs of the rest."""

    async def initialise(self, settings: ServerSettings) -> Initialised:
        """Make authority, database and one admin token."""

    async def serve(self, settings: ServerSettings, started: Callable[[int], None]) -> None:
        """Serve until told to stop."""


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="[COMMAND]", dest="command")
    init = commands.add_parser(
        "init", help="make authority, database and one admin token", description="Once for a site."
    )
    _add_places(init)
    init.add_argument("--admin", metavar="NAME", default="admin", help="whom the first token is for (default: admin)")
    init.add_argument("--json", action="store_true", help="print one JSON document")
    init.set_defaults(run=_init)
    _add_places(parser)
    parser.add_argument("--listen", metavar="HOST:PORT", default=DEFAULT_LISTEN, help=f"default: {DEFAULT_LISTEN}")
    parser.add_argument(
        "--name",
        metavar="HOST",
        action="append",
        default=[],
        help="a name or address nodes reach this server by; may be repeated",
    )
    parser.set_defaults(run=_serve)


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", type=Path, default=Path(DEFAULT_DATA), help=f"default: {DEFAULT_DATA}")
    parser.add_argument(
        "--database",
        metavar="LOCATION",
        default=os.environ.get("PRECAST_DATABASE"),
        help="a file, or postgresql://… (default: $PRECAST_DATABASE, then DIR/precast.db)",
    )


def _init(args: argparse.Namespace) -> int:
    app: ServerApp = args.app
    settings = ServerSettings(args.data, _database(args), "", 0, [], args.admin)
    made = asyncio.run(app.initialise(settings))
    if args.json:
        print_json({"fingerprint": made.fingerprint, "authority": str(made.authority), "token": made.token})
        return 0
    print(f"authority    {made.authority}")
    print(f"fingerprint  {made.fingerprint}")
    print(f"admin token  {made.token}")
    print()
    print("The token is shown this once. To use it:")
    print(f"  export PRECAST_CA={made.authority} PRECAST_URL=https://localhost:8140 PRECAST_TOKEN=…")
    return 0


def _serve(args: argparse.Namespace) -> int:
    try:
        import uvloop
    except ImportError:
        raise issues.NO_SERVER_PARTS.error() from None
    host, port = _listen(args.listen)
    app: ServerApp = args.app
    settings = ServerSettings(args.data, _database(args), host, port, args.name, "")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(
            app.serve(
                settings,
                lambda found: print(f"serving on https://{args.listen.rpartition(':')[0]}:{found}", flush=True),
            )
        )
    return 0


def _database(args: argparse.Namespace) -> str:
    return args.database or str(args.data / "precast.db")


def _listen(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise issues.USAGE.error(problem=f"--listen {text!r} is not HOST:PORT", usage="see `precast server --help`")
    return host.strip("[]"), int(port)
