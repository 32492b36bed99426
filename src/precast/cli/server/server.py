"""`precast server`: initialise a site once, then serve.

The composition root is imported when a command runs, not when the parser is built: no other command pays for it.
"""

import argparse
import asyncio
import os
from pathlib import Path

from precast.app.settings import API, Address, ServerSettings
from precast.cli import issues
from precast.cli.console.output import print_json
from precast.cli.console.parser import declare_exits
from precast.cli.console.settings import add_settings, load_settings
from precast.cli.server import secrets_key
from precast.cli.server.check import run_check


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="[COMMAND]", dest="command")
    init = commands.add_parser(
        "init",
        help="create the authority, the database and one admin token",
        description="Initialise a site. This is done once.",
    )
    add_settings(init, ServerSettings, "data", "database")
    init.add_argument(
        "--admin", metavar="NAME", default="admin", help="the person who gets the first token (default: admin)"
    )
    init.add_argument(
        "--import-puppet-ca",
        metavar="DIR",
        type=Path,
        help="accept the agents of a Puppet server by their existing certificates (`puppet config print cadir`)",
    )
    init.add_argument(
        "--new-authority",
        action="store_true",
        help="create an authority for a database whose own one is lost: every node has to be enrolled again",
    )
    init.add_argument("--json", action="store_true", help="print one JSON document")
    init.set_defaults(run=_init)
    admin = commands.add_parser(
        "admin",
        help="create another admin token",
        description="Create an admin token on the server itself, when the first one is lost. It needs access to the database.",
    )
    add_settings(admin, ServerSettings, "data", "database", "signer")
    admin.add_argument(
        "--admin", metavar="NAME", default="admin", help="the person who gets the token (default: admin)"
    )
    admin.add_argument("--json", action="store_true", help="print one JSON document")
    admin.set_defaults(run=_admin)
    check = commands.add_parser(
        "check",
        help="show how this server confines untrusted code, and how it reaches its database",
        description="Check on the server itself, with the server's settings and as its user, how processes that handle untrusted "
        "code are confined, and whether the connection to the database is verified.",
    )
    add_settings(check, ServerSettings, "data", "database", "signer", "confinement")
    check.add_argument("--json", action="store_true", help="print one JSON document")
    declare_exits(check, {1: "a process cannot be confined as the settings require, or the signer does not answer"})
    check.set_defaults(run=run_check)
    secrets_key.configure(commands)
    add_settings(parser, ServerSettings)
    parser.set_defaults(run=_serve)


def _init(args: argparse.Namespace) -> int:
    from precast.app import root

    settings = load_settings(ServerSettings, args).values
    site = asyncio.run(
        root.initialise(settings, args.admin, args.import_puppet_ca, gives_up_authority=args.new_authority)
    )
    if args.json:
        printed = {"fingerprint": site.fingerprint, "authority": str(site.authority), "token": site.token}
        print_json({**printed, "imported": site.imported, "left_out": list(site.left_out)})
        return 0
    print(f"authority    {site.authority}")
    print(f"fingerprint  {site.fingerprint}")
    print(f"admin token  {site.token}")
    if args.import_puppet_ca:
        print(f"from Puppet  {site.imported} certificates")
    for line in site.left_out:
        print(f"left out     {line}")
    print()
    print("The token is not shown again. To use it:")
    print(f"  export PRECAST_CA={site.authority} PRECAST_URL=https://localhost:8140 PRECAST_TOKEN=…")
    return 0


def _admin(args: argparse.Namespace) -> int:
    from precast.app import root

    token = asyncio.run(root.create_admin(load_settings(ServerSettings, args).values, args.admin))
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
    from precast.app import logs, root
    from precast.app.supervision import Supervisor
    from precast.base.confinement import kernel

    settings = load_settings(ServerSettings, args).values
    logs.set_up(settings.log_level, os.environ)
    # No core dump and no process of the same user shows the memory and the environment, with the password of the database.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    worker = None

    def announce(address: Address | None) -> None:
        print(f"serving on https://{address}" if address else f"working as {', '.join(settings.roles)}", flush=True)

    if settings.workers > 1:
        outcome = Supervisor(settings.workers, settings.listen if API in settings.roles else None).run(announce)
        if isinstance(outcome, int):
            return outcome
        worker = outcome
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(root.serve(settings, worker, announce))
    return 0
