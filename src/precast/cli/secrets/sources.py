"""`precast secrets sources`, `refresh` and `policy`: where secrets come from, and who may choose them. No command shows a value."""

import argparse
from typing import Any

import msgspec

from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.wire.secrets.sources import (
    RefreshAnswer,
    SecretPolicyBody,
    SecretPolicyView,
    SecretSourceRow,
    SourceEnvironment,
    SourceRefresh,
)


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the commands."""
    summary = "show the sources of secrets: what each environment may read, when they were asked, and problems"
    sources = commands.add_parser("sources", help=summary, description=summary)
    sources.set_defaults(run=_list)
    summary = "ask a source again for what nodes read; without a name, all sources, and decide upon all nodes again"
    refresh = commands.add_parser("refresh", help=summary, description=summary)
    refresh.add_argument("source", metavar="SOURCE", nargs="?", default="", help="the name of a source (default: all)")
    refresh.set_defaults(run=_refresh)
    summary = "show or set whether a fact of a node may choose a secret: a warning, or an error of the code"
    policy = commands.add_parser("policy", help=summary, description=summary)
    policy.add_argument("environment", metavar="ENVIRONMENT")
    policy.add_argument("by_facts", metavar="warn|refuse", nargs="?", choices=("warn", "refuse"))
    policy.set_defaults(run=_policy)
    for parser in (sources, refresh, policy):
        add_connection(parser)


def _list(args: argparse.Namespace) -> int:
    rows = connect(args).ask("GET", "/v1/secret-sources", list[SecretSourceRow])
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    if not rows:
        print("The server has no sources of secrets: the setting `secret_sources` names their file.")
        return 0
    print_table(
        ("SOURCE", "KIND", "ENVIRONMENT", "PATHS", "READ", "LAST ASKED", "NEXT", "PROBLEM"),
        [
            (row.name, row.kind, environment.environment, ", ".join(environment.paths), *_state(environment))
            for row in rows
            for environment in row.environments
        ],
    )
    return 0


def _state(environment: SourceEnvironment) -> tuple[str, str, str, str]:
    read = f"{environment.known} of {environment.documents}" if environment.documents else "nothing"
    asked, due = format_time(environment.tried_at), format_time(environment.due_at)
    return read, asked or "never", due or "", environment.problem


def _refresh(args: argparse.Namespace) -> int:
    body = SourceRefresh(args.source)
    answer = connect(args).ask("POST", "/v1/secret-sources/refreshes", RefreshAnswer, body)
    if args.json:
        print_json(msgspec.to_builtins(answer))
        return 0
    what = args.source or "all sources"
    documents = "1 document" if answer.documents == 1 else f"{answer.documents} documents"
    print(f"{what}: {documents} will be asked for now")
    return 0


def _policy(args: argparse.Namespace) -> int:
    path = f"/v1/environments/{segment(args.environment)}/secret-policy"
    client = connect(args)
    if args.by_facts is None:
        view = client.ask("GET", path, SecretPolicyView)
    else:
        view = client.ask("POST", path, SecretPolicyView, SecretPolicyBody(args.by_facts))
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    meaning = "is an error" if view.by_facts == "refuse" else "is a warning"
    print(f"{view.environment}: {view.by_facts} (a secret that a fact chooses {meaning})")
    return 0
