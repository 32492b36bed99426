"""`precast catalog`: shows the staged and served catalogs of nodes, the reads that decided them, and the nodes without one."""

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
    CatalogExplanation,
    CatalogWarning,
    ChangeView,
    DeadCompile,
    FlappingFact,
    LastChange,
    ParameterView,
    ProblemView,
    ProgressView,
    StagedView,
)
from precast.wire.exports import ExportLoop

Command = Callable[[argparse.Namespace], int]
SHOWN_CHARS = 100
# The pause between two requests for the progress of a decision.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    for name, command, summary in (
        ("show", _show, "show the staged and the served catalog of a node"),
        ("why", _why, "show the reads that decided a node's catalog"),
    ):
        _add_entry(add(name, command, summary)).add_argument("node", metavar="NODE")
    diff = add("diff", _diff, "show how the staged catalog of a node differs from the served one")
    diff.add_argument("node", metavar="NODE")
    add("errors", _errors, "show the nodes that get no catalog, get it late, or have one with problems, and why")
    compile_parser = add("compile", _compile, "decide again which catalog a node gets, and show the result")
    declare_exits(compile_parser, {1: "the node's code gives an error"})
    _add_entry(compile_parser).add_argument("node", metavar="NODE")
    compile_parser.add_argument(
        "--wait",
        metavar="DURATION",
        type=_duration,
        default=timedelta(minutes=2),
        help="how long to wait for the result (default: 2m); 0s does not wait",
    )


def _add_entry(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    summary = "an entry point: a manifest of the environment that plans apply, instead of the main manifest"
    parser.add_argument("--entry", metavar="PATH", default="", help=summary)
    return parser


def _query(args: argparse.Namespace) -> dict[str, str]:
    return {"entry": args.entry} if args.entry else {}


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/catalog", StagedView, query=_query(args))
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    rows = [
        ("state", view.state),
        ("environment", view.environment),
        ("version of the code", view.version[:12]),
        ("staged", view.staged and view.staged[:12]),
        ("decided", format_time(view.decided_at)),
    ]
    if view.entry:
        rows.insert(0, ("entry point", view.entry))
    else:
        rows += [
            ("changed", format_time(view.changed_at)),
            ("released", view.released and view.released[:12]),
            ("released at", format_time(view.released_at)),
            ("released by", view.released_by),
        ]
    print_table(["NODE", view.node], rows)
    for level, text in view.logs:
        print(f"{level}: {text}")
    _print_problems(view)
    if view.error is not None:
        print(f"\n{view.error}")
    return 0


def _diff(args: argparse.Namespace) -> int:
    changes = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/catalog/difference", list[ChangeView])
    if args.json:
        print_json(msgspec.to_builtins(changes))
        return 0
    if not changes:
        print("no differences")
    for change in changes:
        print_change(change)
    return 0


def print_change(change: ChangeView, before: str = "") -> None:
    """Print a change with one line per parameter; for texts of several lines, the lines that differ."""
    print(f"{before}{change.ref} {change.kind}")
    for parameter in change.parameters if change.kind == "changed" else ():
        for line in _parameter_lines(parameter):
            print(f"    {line}")


def _parameter_lines(parameter: ParameterView) -> list[str]:
    before, after = parameter.before, parameter.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        import difflib

        diff = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=1)
        return [f"{parameter.name}:", *(f"  {line}" for line in list(diff)[2:])]
    return [f"{parameter.name}: {_format_value(before)} -> {_format_value(after)}"]


def _format_value(value: Any) -> str:
    if value is msgspec.UNSET:
        return "(nothing)"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


def _why(args: argparse.Namespace) -> int:
    path = f"/v1/nodes/{segment(args.node)}/catalog/why"
    view = connect(args).ask("GET", path, CatalogExplanation, query=_query(args))
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    print_table(["READ", "ABOUT", "ANSWER"], [(read.question, read.about, read.answer) for read in view.reads])
    print(f"\n{view.node}: {len(view.reads)} reads in {view.environment}, version {view.version[:12]}")
    if view.change is not None:
        _print_last_change(view.change)
    return 0


def _print_last_change(change: LastChange) -> None:
    before, after = (digest[:12] if digest else "an error in the code" for digest in (change.before, change.after))
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
    errors = client.list_pages("/v1/catalogs/errors", CatalogError, "position")
    warnings = client.list_pages("/v1/catalogs/warnings", CatalogWarning, "position")
    dead = client.ask("GET", "/v1/catalogs/dead", list[DeadCompile])
    flapping = client.ask("GET", "/v1/catalogs/flapping", list[FlappingFact])
    loops = client.list_pages("/v1/catalogs/loops", ExportLoop, "node")
    if args.json:
        document = {"errors": errors, "warnings": warnings, "dead": dead, "flapping": flapping, "loops": loops}
        print_json(msgspec.to_builtins(document))
        return 0
    _print_errors(errors)
    _print_warnings(warnings)
    for letter in dead:
        work = "the compile" if letter.kind == "compile" else "the decision"
        print(f"{_names(letter.nodes, letter.count)}")
        print(f"given up {format_time(letter.since)} after {letter.attempts} attempts: {letter.error}")
        print(f"  hint: `precast catalog compile {letter.nodes[0]}` tries {work} again\n")
    for fact in flapping:
        since = format_time(fact.since)
        print(f"{fact.node}: its fact {fact.path} changes too often: {fact.times} changes were delayed since {since}")
        print("  hint: change the code so that it does not read the fact, or make the fact change less often\n")
    for loop in loops:
        _print_loop(loop)
    if not (errors or warnings or dead or flapping or loops):
        print("no node's code gives an error or a catalog with problems, and no decision is delayed")
    return 0


def _print_loop(loop: ExportLoop) -> None:
    members = " → ".join(f"{member.type}[{member.title}] of {member.node}" for member in reversed(loop.members))
    print(f"{loop.node}: its exports are part of a loop, so its catalog is held back since {format_time(loop.since)}")
    print(f"  {members} → and again; after {loop.rounds} changes it did not come to rest")
    print(
        f"  hint: change the code so that one of them does not depend on the other; `precast release {loop.node}` goes on\n"
    )


def _print_errors(errors: Sequence[CatalogError]) -> None:
    """Print each error once, with the nodes that have it and the problems that may have caused it."""
    nodes: dict[tuple[str, tuple[ProblemView, ...]], list[str]] = {}
    for error in errors:
        nodes.setdefault((error.error, tuple(error.problems)), []).append(_subject(error))
    for (text, problems), names in nodes.items():
        print(f"{_names(names)}\n{text}")
        for problem in problems:
            print(format_problem(problem))
        print()


def _print_warnings(warnings: Sequence[CatalogWarning]) -> None:
    nodes: dict[ProblemView, list[str]] = {}
    for warning in warnings:
        for problem in warning.problems:
            nodes.setdefault(problem, []).append(_subject(warning))
    for problem, names in nodes.items():
        print(f"{_names(names)}\n{format_problem(problem)}\n")


def _subject(flawed: CatalogError | CatalogWarning) -> str:
    return f"{flawed.node} ({flawed.entry})" if flawed.entry else flawed.node


def format_problem(problem: ProblemView) -> str:
    """A problem of a catalog as people read it: one line and a hint."""
    return f"warning: {problem.text} [{problem.code}]\n  hint: {problem.hint}"


def _names(nodes: Sequence[str], count: int | None = None) -> str:
    """Nodes, some perhaps with an entry point in parentheses, and how many they are."""
    number = len({node.partition(" ")[0] for node in nodes}) if count is None else count
    subject = "1 node" if number == 1 else f"{number} nodes"
    return f"{subject}: {', '.join(nodes[:5])}{' …' if max(number, len(nodes)) > 5 else ''}"


def _compile(args: argparse.Namespace) -> int:
    client, path, query = connect(args), f"/v1/nodes/{segment(args.node)}/catalog", _query(args)
    before = client.find("GET", path, StagedView, query)
    progress = client.ask("POST", f"{path}/decision", ProgressView, query=query)
    end_s = time.monotonic() + args.wait.total_seconds()
    pause_s = FIRST_PAUSE_S
    while progress.state not in ("done", "given up") and time.monotonic() < end_s:
        time.sleep(min(pause_s, max(end_s - time.monotonic(), 0)))
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        progress = client.ask("GET", f"{path}/decision", ProgressView, query=query)
    if not args.wait:
        print_json(msgspec.to_builtins(progress)) if args.json else print(f"{args.node}: requested")
        return 0
    if progress.state == "given up":
        raise issues.GIVEN_UP.error(node=args.node, attempts=progress.attempts, reason=progress.error)
    if progress.state != "done":
        state = f"{progress.state}{f', last attempt: {progress.error}' if progress.error else ''}"
        raise issues.NOT_DECIDED.error(node=args.node, wait=setting_values.show(args.wait), state=state)
    view = client.ask("GET", path, StagedView, query=query)
    if args.json:
        print_json(msgspec.to_builtins(view))
    elif view.error is not None:
        print(f"{view.node}: its code gives an error\n{view.error}")
        _print_problems(view)
    else:
        is_same = before is not None and before.staged == view.staged
        print(
            f"{view.node}: {view.staged and view.staged[:12]} {'is unchanged' if is_same else 'is new'}, {view.state}"
        )
        _print_problems(view)
    return 1 if view.error is not None else 0


def _print_problems(view: StagedView) -> None:
    for problem in view.problems:
        print(format_problem(problem))


def _duration(text: str) -> timedelta:
    try:
        return setting_values.read_duration(text)
    except setting_values.InvalidValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not {error}") from None
