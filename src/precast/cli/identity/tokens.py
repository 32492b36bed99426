"""`precast token`: the tokens of people and of nodes to enrol, on the server."""

import argparse
from collections.abc import Callable, Sequence

import msgspec

from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.extensions import add_extensions, read_extensions
from precast.cli.console.output import format_time, print_json, print_table
from precast.wire.identity.bodies import ActionResult, NewEnrolmentToken, NewPersonToken, TokenBody, TokenRow

Command = Callable[[argparse.Namespace], int]
HOUR_S = 3600


def configure_token(parser: argparse.ArgumentParser) -> None:
    commands = add_commands(parser)
    enrolment = add_command(commands, "enrol", _create_enrolment, "create a token that enrols nodes")
    enrolment.add_argument("pattern", metavar="NAME", help="a node's name, or a glob such as 'web*.example.com'")
    enrolment.add_argument("--uses", metavar="N", type=int, default=1, help="how many nodes may use it (default: 1)")
    enrolment.add_argument("--hours", metavar="N", type=int, default=1, help="valid for N hours (default: 1)")
    add_extensions(enrolment)
    person = add_command(commands, "person", _create_person, "create a token for a person")
    person.add_argument("person", metavar="NAME")
    person.add_argument("--role", required=True, help="viewer, operator, admin or commands")
    person.add_argument(
        "--environment", metavar="NAME", action="append", default=[], help="only for this environment; may be repeated"
    )
    person.add_argument("--days", metavar="N", type=int, default=90, help="valid for N days (default: 90)")
    add_command(commands, "list", _list_tokens, "show all tokens, without their secrets")
    revoke = add_command(commands, "revoke", _revoke_token, "revoke a token")
    revoke.add_argument("id", metavar="ID")


def add_commands(parser: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    return parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)


def add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, command: Command, summary: str
) -> argparse.ArgumentParser:
    added = commands.add_parser(name, help=summary, description=summary)
    add_connection(added)
    added.set_defaults(run=command)
    return added


def print_result(args: argparse.Namespace, result: ActionResult, text: str) -> int:
    if args.json:
        print_json(msgspec.to_builtins(result))
    else:
        print(text)
    return 0


def _create_enrolment(args: argparse.Namespace) -> int:
    body = NewEnrolmentToken(args.pattern, read_extensions(args), args.uses, args.hours * HOUR_S)
    return _print_token(args, connect(args).ask("POST", "/v1/tokens/enrolment", TokenBody, body))


def _create_person(args: argparse.Namespace) -> int:
    body = NewPersonToken(args.person, args.role, args.environment, args.days * 24 * HOUR_S)
    return _print_token(args, connect(args).ask("POST", "/v1/tokens/person", TokenBody, body))


def _print_token(args: argparse.Namespace, created: TokenBody) -> int:
    if args.json:
        print_json(msgspec.to_builtins(created))
    else:
        print(created.token)
    return 0


def _list_tokens(args: argparse.Namespace) -> int:
    tokens = connect(args).ask("GET", "/v1/tokens", list[TokenRow])
    rows = [
        (row.id, row.sort, row.subject, row.allows, format_time(row.expires_at), "valid" if row.is_good else "expired")
        for row in tokens
    ]
    return print_rows(args, tokens, ["ID", "KIND", "FOR", "ALLOWS", "EXPIRES", "STATE"], rows)


def _revoke_token(args: argparse.Namespace) -> int:
    result = connect(args).ask("DELETE", f"/v1/tokens/{segment(args.id)}", ActionResult)
    return print_result(args, result, f"revoked {args.id}")


def print_rows(args: argparse.Namespace, values: object, heads: list[str], rows: Sequence[Sequence[object]]) -> int:
    if args.json:
        print_json(msgspec.to_builtins(values))
    else:
        print_table(heads, rows)
    return 0


def format_pairs(values: dict[str, object] | dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(values.items()))
