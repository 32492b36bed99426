"""`precast secrets list`, `show` and `status`: which catalogs refer to which secrets, and the state of the keys. None shows a value."""

import argparse
from typing import Any

import msgspec

from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.wire.secrets.references import SecretKeysView, SecretRow, SecretView

SHORT = 12


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the commands."""
    summary = "list the secrets of an environment by reference; their values are shown to nobody"
    listing = commands.add_parser("list", help=summary, description=summary)
    listing.add_argument("environment", metavar="ENVIRONMENT")
    listing.set_defaults(run=_list)
    summary = "show which parameters and nodes have a secret"
    show = commands.add_parser("show", help=summary, description=summary)
    show.add_argument("environment", metavar="ENVIRONMENT")
    show.add_argument("ref", metavar="REFERENCE", help="the beginning of a reference")
    show.set_defaults(run=_show)
    summary = "show the keys of secrets: which server has which, and what a rotation waits for"
    status = commands.add_parser("status", help=summary, description=summary)
    status.set_defaults(run=_status)
    for parser in (listing, show, status):
        add_connection(parser)


def _list(args: argparse.Namespace) -> int:
    client, path, rows = connect(args), f"/v1/environments/{segment(args.environment)}/secrets", list[SecretRow]()
    while page := client.ask("GET", f"{path}?after={rows[-1].ref if rows else ''}", list[SecretRow]):
        rows += page
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    if not rows:
        print(f"No catalog of {args.environment} refers to a secret.")
        return 0
    print_table(
        ("REFERENCE", "CATALOGS", "LAST STORED"),
        [(row.ref[:SHORT], str(row.catalogs), format_time(row.stored_at)) for row in rows],
    )
    return 0


def _show(args: argparse.Namespace) -> int:
    path = f"/v1/environments/{segment(args.environment)}/secrets/{segment(args.ref)}"
    view = connect(args).ask("GET", path, SecretView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    print(f"reference    {view.ref}")
    print(f"environment  {view.environment}")
    print(f"last stored  {format_time(view.stored_at)}")
    for parameter in view.parameters:
        print(f"parameter    {parameter}")
    print()
    print_table(("NODE", "CATALOG"), [(user.node, " ".join((user.state, user.entry))) for user in view.nodes])
    if not view.is_complete:
        print("(there are more)")
    return 0


def _status(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", "/v1/secret-keys", SecretKeysView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    total = len(view.processes)
    rows = [(key.id, str(key.wraps), f"{key.processes} of {total}") for key in view.keys]
    print_table(("SECRETS KEY", "ENVIRONMENTS", "SERVER PROCESSES"), rows)
    print()
    print(f"state    {view.state}")
    print(f"secrets  {', '.join(f'{count} in {name}' for name, count in view.secrets.items()) or 'none'}")
    if view.next_step:
        print(f"next     {view.next_step}")
    return 0
