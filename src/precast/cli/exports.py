"""`precast exports`: what nodes export for others, and who collects it."""

import argparse

import msgspec

from precast.base import canonical
from precast.cli import issues
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import print_json, print_table
from precast.wire.exports import ExportedRow, ExportedType

NAMES_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    listing = commands.add_parser(
        "list", help="list the types that nodes export, or the exports of one type", description="list exports"
    )
    listing.add_argument("type", metavar="TYPE", nargs="?", help="such as Nagios_host")
    show = commands.add_parser("show", help="show who exports and collects a resource", description="show an export")
    show.add_argument("resource", metavar="TYPE[TITLE]", help="such as Nagios_host[web1]")
    for command, run in ((listing, _list), (show, _show)):
        add_connection(command)
        command.add_argument("--environment", metavar="NAME", default="", help="only exports in this environment")
        command.set_defaults(run=run)


def _list(args: argparse.Namespace) -> int:
    client = connect(args)
    if args.type:
        rows = _read(client, args.type, args.environment)
        if args.json:
            print_json(msgspec.to_builtins(rows))
        else:
            print_table(
                ["RESOURCE", "NODE", "ENVIRONMENT", "STATE", "TAGS"],
                [
                    (f"{row.type}[{row.title}]", row.node, row.environment, row.state, ", ".join(row.tags))
                    for row in rows
                ],
            )
        return 0
    query = {"environment": args.environment} if args.environment else {}
    types = client.ask("GET", "/v1/exports", list[ExportedType], query=query)
    if args.json:
        print_json(msgspec.to_builtins(types))
    else:
        print_table(
            ["TYPE", "ENVIRONMENT", "STATE", "RESOURCES", "EXPORTERS", "COLLECTORS"],
            [(row.type, row.environment, row.state, row.resources, row.nodes, row.collectors) for row in types],
        )
    return 0


def _show(args: argparse.Namespace) -> int:
    type_name, bracket, rest = args.resource.partition("[")
    if not bracket or not rest.endswith("]"):
        raise issues.USAGE.error(problem=f"{args.resource!r} is not a resource", usage="write it as Nagios_host[web1]")
    client = connect(args)
    rows = [row for row in _read(client, type_name, args.environment) if row.title == rest[:-1]]
    if not rows:
        raise issues.NOT_EXPORTED.error(resource=args.resource, type=type_name)
    collectors = {
        environment: _read_collectors(client, type_name, environment)
        for environment in sorted({row.environment for row in rows})
    }
    if args.json:
        print_json({"exports": msgspec.to_builtins(rows), "collectors": collectors})
        return 0
    for row in rows:
        print(f"{row.type}[{row.title}], {row.state} by {row.node} in {row.environment}")
        for name, value in sorted(row.parameters.items()):
            print(f"    {name} => {value if isinstance(value, str) else canonical.encode(value).decode()}")
        print(f"    tags: {', '.join(row.tags)}")
    for environment, names in collectors.items():
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        print(f"collected in {environment} by: {', '.join(names[:NAMES_SHOWN]) or 'no node'}{more}")
    return 0


def _read(client: Client, type_name: str, environment: str) -> list[ExportedRow]:
    """All exports of a type."""
    rows: list[ExportedRow] = []
    query = {"environment": environment} if environment else {}
    while page := client.ask("GET", f"/v1/exports/{segment(type_name)}", list[ExportedRow], query=query):
        rows += page
        query = {**query, "after": page[-1].position}
    return sorted(rows, key=lambda row: (row.title, row.node, row.state))


def _read_collectors(client: Client, type_name: str, environment: str) -> list[str]:
    names: list[str] = []
    path = f"/v1/environments/{segment(environment)}/exports/{segment(type_name)}/collectors"
    while page := client.ask("GET", path, list[str], query={"after": names[-1]} if names else {}):
        names += page
    return names
