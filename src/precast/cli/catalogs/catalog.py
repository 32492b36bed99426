"""`precast catalog`: what is staged for nodes, what they are served, why, and who gets none."""

import argparse
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from precast.base import setting_values
from precast.cli import issues
from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.wire.catalogs.bodies import (
    CatalogError,
    ChangeView,
    DeadCompile,
    FlappingFact,
    LastChange,
    ParameterView,
    ProgressView,
    StagedView,
    CatalogExplanation,
)

Command = Callable[[argparse.Namespace], int]
SHOWN_CHARS = 100
# Between two looks at how far a decision is.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0


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
    add("errors", _errors, "who gets no catalog, or gets it late, and why")
    compiling = add("compile", _compile, "have it decided anew which catalog a node gets, and see what comes of it")
    declare_exits(compiling, {1: "the node's code gives an error"})
    compiling.add_argument("node", metavar="NODE")
    compiling.add_argument(
        "--wait",
        metavar="DURATION",
        type=_duration,
        default=timedelta(minutes=2),
        help="how long to wait for it (default: 2m); 0s only asks",
    )


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
            ("decided", format_time(view.decided_at)),
            ("changed", format_time(view.changed_at)),
            ("released", view.released and view.released[:12]),
            ("released at", format_time(view.released_at)),
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
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/catalog/why", CatalogExplanation)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    print_table(["READ", "ABOUT", "ANSWER"], [(one.question, one.about, one.answer) for one in view.reads])
    print(f"\n{view.node}: {len(view.reads)} reads in {view.environment}, version {view.version[:12]}")
    if view.change is not None:
        _print_last_change(view.change)
    return 0


def _print_last_change(change: LastChange) -> None:
    before, after = (digest[:12] if digest else "an error of the code" for digest in (change.before, change.after))
    print(f"changed {format_time(change.at)}, from {before} to {after}:")
    print(f"  {change.question} {change.about}: {change.old_answer} -> {change.new_answer}")
    if (version := change.brought_by) is not None:
        commit = f"commit {version.commit}, " if version.commit else ""
        print(
            f"  by version {version.number} ({commit}{version.source}),"
            f" deployed by {version.deployed_by} {format_time(version.deployed_at)}"
        )


def _errors(args: argparse.Namespace) -> int:
    client = connect(args)
    found = client.list_pages("/v1/catalogs/errors", CatalogError, "node")
    dead = client.ask("GET", "/v1/catalogs/dead", list[DeadCompile])
    flapping = client.ask("GET", "/v1/catalogs/flapping", list[FlappingFact])
    if args.json:
        print_json(msgspec.to_builtins({"errors": found, "dead": dead, "flapping": flapping}))
        return 0
    for error in dict.fromkeys(one.error for one in found):
        print(f"{_names([one.node for one in found if one.error == error])}\n{error}\n")
    for letter in dead:
        what = "the compile" if letter.kind == "compile" else "the decision"
        print(f"{_names(letter.nodes, letter.count)}")
        print(f"given up {format_time(letter.since)} after {letter.attempts} tries: {letter.error}")
        print(f"  hint: `precast catalog compile {letter.nodes[0]}` tries {what} again\n")
    for flap in flapping:
        print(
            f"{flap.node}: {flap.path} of its facts changes too often: {flap.times} changes had to wait since {format_time(flap.since)}"
        )
        print("  hint: let the code not read it, or let it change less often\n")
    if not (found or dead or flapping):
        print("no node's code gives an error, and nobody waits")
    return 0


def _names(nodes: Sequence[str], count: int | None = None) -> str:
    number = len(nodes) if count is None else count
    what = "1 node" if number == 1 else f"{number} nodes"
    return f"{what}: {', '.join(nodes[:5])}{' …' if number > 5 else ''}"


def _compile(args: argparse.Namespace) -> int:
    client, node = connect(args), segment(args.node)
    before = client.find("GET", f"/v1/nodes/{node}/catalog", StagedView)
    progress = client.ask("POST", f"/v1/nodes/{node}/catalog/decision", ProgressView)
    end_s = time.monotonic() + args.wait.total_seconds()
    pause_s = FIRST_PAUSE_S
    while progress.state not in ("done", "given up") and time.monotonic() < end_s:
        time.sleep(min(pause_s, max(end_s - time.monotonic(), 0)))
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        progress = client.ask("GET", f"/v1/nodes/{node}/catalog/decision", ProgressView)
    if not args.wait:
        print_json(msgspec.to_builtins(progress)) if args.json else print(f"{args.node}: asked for")
        return 0
    if progress.state == "given up":
        raise issues.GIVEN_UP.error(node=args.node, attempts=progress.attempts, reason=progress.error)
    if progress.state != "done":
        waits = f"{progress.state}{f', last try: {progress.error}' if progress.error else ''}"
        raise issues.NOT_DECIDED.error(node=args.node, wait=setting_values.show(args.wait), state=waits)
    view = client.ask("GET", f"/v1/nodes/{node}/catalog", StagedView)
    if args.json:
        print_json(msgspec.to_builtins(view))
    elif view.error is not None:
        print(f"{view.node}: its code gives an error\n{view.error}")
    else:
        is_same = before is not None and before.staged == view.staged
        print(f"{view.node}: {view.staged and view.staged[:12]} {'as before' if is_same else 'is new'}, {view.state}")
    return 1 if view.error is not None else 0


def _duration(text: str) -> timedelta:
    try:
        return setting_values.read_duration(text)
    except setting_values.InvalidValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not {error}") from None
