"""`precast catalog`: what is staged for nodes, what they are served, why, and who gets none."""

import argparse
from collections.abc import Callable
from typing import Any

import msgspec

from precast.cli.client import add_connection, connect, segment
from precast.cli.output import moment, print_json, print_table
from precast.wire.catalogs import CatalogError, ChangeView, ParameterView, StagedView, WhyView

Command = Callable[[argparse.Namespace], int]
SHOWN_CHARS = 100


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    for name, command, summary in (
        ("show", _show, "what is staged for a node, and what it is served"),
        ("diff", _diff, "how what is staged for a node differs from what it is served"),
        ("why", _why, "the reads that decided a node's catalog"),
    ):
        add(name, command, summary).add_argument("node", metavar="NODE")
    add("errors", _errors, "nodes whose code gives an error")


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/catalog", StagedView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    print_table(
        ["NODE", view.node],
        [
            ("state", view.state),
            ("environment", view.environment),
            ("version of the code", view.version[:12]),
            ("staged", view.staged and view.staged[:12]),
            ("decided", moment(view.decided_at)),
            ("changed", moment(view.changed_at)),
            ("released", view.released and view.released[:12]),
            ("released at", moment(view.released_at)),
            ("released by", view.released_by),
        ],
    )
    for level, text in view.logs:
        print(f"{level}: {text}")
    if view.error is not None:
        print(f"\n{view.error}")
    return 0


def _diff(args: argparse.Namespace) -> int:
    changes = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/catalog/difference", list[ChangeView])
    if args.json:
        print_json(msgspec.to_builtins(changes))
        return 0
    if not changes:
        print("nothing differs")
    for change in changes:
        print_change(change)
    return 0


def print_change(change: ChangeView, before: str = "") -> None:
    """A change with its parameters, a line each; of texts with many lines those that differ."""
    print(f"{before}{change.ref} {change.kind}")
    for one in change.parameters if change.kind == "changed" else ():
        for line in _lines(one):
            print(f"    {line}")


def _lines(one: ParameterView) -> list[str]:
    before, after = one.before, one.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        import difflib

        told = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=1)
        return [f"{one.name}:", *(f"  {line}" for line in list(told)[2:])]
    return [f"{one.name}: {_shown(before)} -> {_shown(after)}"]


def _shown(value: Any) -> str:
    if value is msgspec.UNSET:
        return "(nothing)"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


def _why(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/catalog/why", WhyView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    print_table(["READ", "ABOUT", "ANSWER"], [(one.question, one.about, one.answer) for one in view.reads])
    print(f"\n{view.node}: {len(view.reads)} reads in {view.environment}, version {view.version[:12]}")
    return 0


def _errors(args: argparse.Namespace) -> int:
    client = connect(args)
    found: list[CatalogError] = []
    while page := client.ask(
        "GET", "/v1/catalogs/errors", list[CatalogError], query={"after": found[-1].node} if found else {}
    ):
        found += page
    if args.json:
        print_json(msgspec.to_builtins(found))
        return 0
    for error in dict.fromkeys(one.error for one in found):
        nodes = [one.node for one in found if one.error == error]
        print(f"{len(nodes)} nodes: {', '.join(nodes[:5])}{' …' if len(nodes) > 5 else ''}")
        print(f"{error}\n")
    if not found:
        print("no node's code gives an error")
    return 0
