"""Reads and formats classes and parameters of nodes on the command line; and `precast node rules`."""

import argparse
import json
from typing import Any

import msgspec

from precast.cli import issues
from precast.cli.console.client import add_connection, connect
from precast.cli.console.output import print_json, print_table
from precast.wire.nodes.bodies import RuleBody, RuleRow


def read_classes(words: list[str]) -> dict[str, Any]:
    """Classes by name, or one JSON object with their parameters. Raises InputError CLI-001."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return _read_object(words[0])
    names = [name for word in words for name in word.split(",") if name]
    return {name.removeprefix("::"): {} for name in names}


def read_parameters(words: list[str]) -> dict[str, Any]:
    """KEY=TEXT, or one JSON object for values that are not strings. Raises InputError CLI-001."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return _read_object(words[0])
    return read_pairs(words)


def read_pairs(words: list[str]) -> dict[str, str]:
    """KEY=TEXT. Raises InputError CLI-001."""
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise issues.USAGE.error(
                problem=f"{word!r} is not KEY=VALUE", usage="write it as tier=front, or one JSON object"
            )
        pairs[name] = value
    return pairs


def _read_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise issues.USAGE.error(
            problem=f"this is not valid JSON: {error}", usage='write it as {"key": "value"}'
        ) from None
    if not isinstance(value, dict):
        raise issues.USAGE.error(problem="this is not a JSON object", usage='write it as {"key": "value"}')
    return value


def format_classes(classes: dict[str, dict[str, Any]]) -> str | None:
    """Classes as text for a table."""
    texts = [
        f"{name}({json.dumps(parameters, ensure_ascii=False)})" if parameters else name
        for name, parameters in classes.items()
    ]
    return ", ".join(sorted(texts)) or None


def format_parameters(parameters: dict[str, Any]) -> str | None:
    texts = [
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in parameters.items()
    ]
    return ", ".join(sorted(texts)) or None


def configure_rules(parser: argparse.ArgumentParser) -> None:
    """Add the commands of `precast node rules`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="what", required=True)
    summary = "show the rules in the order in which they are tried"
    listing = commands.add_parser("list", help=summary, description=summary)
    add_connection(listing)
    listing.set_defaults(run=_list)
    summary = "set the rule with a number: the classification of the nodes that match it"
    put = commands.add_parser("set", help=summary, description=summary)
    add_connection(put)
    put.add_argument("number", metavar="NUMBER", type=int)
    put.add_argument(
        "--name", metavar="PATTERN", help="nodes with this name: web*, or a regular expression such as /^web[0-9]+$/"
    )
    put.add_argument(
        "--extension",
        metavar="NAME=PATTERN",
        action="append",
        default=[],
        help="nodes whose certificate has this extension; may be repeated",
    )
    put.add_argument("--environment", metavar="NAME", help="the environment of these nodes")
    put.add_argument("--role", metavar="ROLE", help="the role of these nodes")
    put.add_argument(
        "--classes",
        metavar="CLASS",
        nargs="+",
        default=[],
        help="the classes of these nodes: names, or one JSON object",
    )
    put.add_argument(
        "--parameters",
        metavar="KEY=VALUE",
        nargs="+",
        default=[],
        help="the parameters of these nodes: strings, or one JSON object",
    )
    put.set_defaults(run=_set)
    summary = "remove a rule"
    remove = commands.add_parser("remove", help=summary, description=summary)
    add_connection(remove)
    remove.add_argument("number", metavar="NUMBER", type=int)
    remove.set_defaults(run=_remove)


def _list(args: argparse.Namespace) -> int:
    rows = connect(args).ask("GET", "/v1/rules", list[RuleRow])
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    print_table(
        ["NUMBER", "NAME", "EXTENSIONS", "ENVIRONMENT", "ROLE", "CLASSES", "PARAMETERS"],
        [(row.number, *_cells(row.rule)) for row in rows],
    )
    return 0


def _cells(rule: RuleBody) -> tuple[object, ...]:
    return (
        rule.name,
        format_parameters(rule.extensions),
        rule.environment,
        rule.role,
        format_classes(rule.classes),
        format_parameters(rule.parameters),
    )


def _set(args: argparse.Namespace) -> int:
    body = RuleBody(
        args.name,
        read_pairs(args.extension),
        args.environment,
        args.role,
        read_classes(args.classes),
        read_parameters(args.parameters),
    )
    row = connect(args).ask("POST", f"/v1/rules/{args.number}", RuleRow, body)
    if args.json:
        print_json(msgspec.to_builtins(row))
    else:
        print(f"rule {row.number} is set; nodes are classified again")
    return 0


def _remove(args: argparse.Namespace) -> int:
    row = connect(args).ask("DELETE", f"/v1/rules/{args.number}", RuleRow)
    if args.json:
        print_json(msgspec.to_builtins(row))
    else:
        print(f"rule {row.number} is removed; nodes are classified again")
    return 0
