"""`precast facts`: collects the facts of this machine, and shows and compares those that nodes have sent."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from precast.agent import issues
from precast.agent.facts import external, fact_paths, plugins
from precast.agent.facts.collection import Collection, Collector, all_sources
from precast.agent.facts.machine import Facts, Machine, NoKernel
from precast.agent.facts.ruby import source as ruby
from precast.agent.facts.running_kernel import RunningKernel
from precast.base.setting_values import InvalidValueError, read_duration
from precast.base.spans import visible
from precast.cli import issues as cli_issues
from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.cli.facts.local_facts import code_trust
from precast.cli.facts.module_facts import module_facts, module_paths
from precast.cli.query.targets import add_targets, note_claims, targets_of
from precast.lang.legacy_facts import legacy_facts
from precast.wire.facts import FactChangeRow, FactsDifference, FactsView
from precast.wire.nodes.bodies import NodesAction, NodesActionResult

DIFFERS = 1


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    summary = "collect the facts of this machine and print them"
    local = commands.add_parser("local", help=summary, description=summary)
    local.add_argument(
        "paths", metavar="PATH", nargs="*", help="a fact or a part of one, such as os.release.major (default: all)"
    )
    local.add_argument("--json", action="store_true", help="print one JSON document")
    local.add_argument("--legacy", action="store_true", help="also print facter's flat names, such as ipaddress_eth0")
    local.add_argument(
        "--root", metavar="DIR", type=Path, default=Path("/"), help="collect the facts of the system under DIR"
    )
    local.add_argument(
        "--facts-d",
        metavar="DIR",
        action="append",
        help="read external facts from DIR instead of /etc/precast/facts.d and facter's directories",
    )
    local.add_argument(
        "--plugins",
        metavar="DIR",
        action="append",
        help=f"read Python facts from DIR instead of {plugins.DIRECTORIES[-1]}",
    )
    local.add_argument("--environment", metavar="DIR", help="also read the facts of the modules of this environment")
    local.add_argument(
        "--modulepath", metavar="DIRS", help="also read the facts of the modules in these directories, separated by `:`"
    )
    local.set_defaults(run=_local)
    for name, command, summary in (
        ("show", _show, "show the facts that a node has sent"),
        ("history", _history, "show how a node's facts changed"),
    ):
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.add_argument("node", metavar="NODE")
        added.set_defaults(run=command)
        if command is _show:
            added.add_argument("paths", metavar="PATH", nargs="*", help="a fact or a part of one (default: all)")
    _add_difference(commands)
    summary = "make nodes collect and send their facts now"
    collect = commands.add_parser("collect", help=summary, description=summary)
    add_connection(collect)
    add_targets(collect)
    collect.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    collect.set_defaults(run=_collect_now)


def _add_difference(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    summary = "show how a node's facts differ from another node's, or from its own earlier ones"
    difference = commands.add_parser("diff", help=summary, description=summary)
    add_connection(difference)
    difference.add_argument("node", metavar="NODE")
    difference.add_argument("other", metavar="OTHER", nargs="?", help="another node")
    difference.add_argument("--since", metavar="TIME", help="a time such as 2026-11-15T22:00Z, or how long ago: 2h, 7d")
    difference.set_defaults(run=_differ)
    declare_exits(difference, {DIFFERS: "the facts differ"})


def _local(args: argparse.Namespace) -> int:
    collected = _collect(args)
    for warning in collected.warnings:
        print(f"precast: warning: {visible(warning.message)} [{warning.code}]", file=sys.stderr)
    old = legacy_facts(collected.facts)
    shown = {**collected.facts, **old} if args.legacy else collected.facts
    if args.paths:
        shown = {path: _find(shown, old, path) for path in args.paths}
    if args.json:
        print_json(shown)
    elif len(args.paths) == 1 and not isinstance(value := shown[args.paths[0]], dict | list):
        print(_format_value(value))
    else:
        _print_lines(shown)
    return 0


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/facts", FactsView)
    shown = (
        {path: _find(view.facts, legacy_facts(view.facts), path) for path in args.paths} if args.paths else view.facts
    )
    if args.json:
        print_json({**msgspec.to_builtins(view), "facts": shown})
        return 0
    _print_lines(shown)
    print(f"\nreceived {view.received_at:%Y-%m-%d %H:%M:%SZ}; {view.decision}")
    return 0


def _collect_now(args: argparse.Namespace) -> int:
    body = NodesAction(targets_of(args), args.why)
    result = connect(args).ask("POST", "/v1/collections", NodesActionResult, body)
    note_claims(result.rests_on_claims)
    if args.json:
        print_json(msgspec.to_builtins(result))
    else:
        names = f"{', '.join(result.touched[:10])}{' …' if len(result.touched) > 10 else ''}"
        print(f"requested from {len(result.touched)}: {names}")
    return 0


def _differ(args: argparse.Namespace) -> int:
    if (args.other is None) is (args.since is None):
        raise cli_issues.USAGE.error(problem="give OTHER, or --since TIME", usage="see `precast facts diff --help`")
    query = {"other": args.other} if args.other is not None else {"since": _parse_time(args.since).isoformat()}
    path = f"/v1/nodes/{segment(args.node)}/facts/difference"
    difference = connect(args).ask("GET", path, FactsDifference, query=query)
    if args.json:
        print_json(msgspec.to_builtins(difference))
    elif difference.differences:
        rows = [(row.path, _format_optional(row.left), _format_optional(row.right)) for row in difference.differences]
        print_table(["PATH", difference.left, difference.right], rows)
    else:
        print("no differences in stable facts")
    return DIFFERS if difference.differences else 0


def _parse_time(text: str) -> datetime:
    """Parse a time, or a duration before now. Raises InputError CLI-001."""
    try:
        return datetime.now(UTC) - read_duration(text)
    except InvalidValueError:
        pass
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise cli_issues.USAGE.error(
            problem=f"--since {text!r} is not a time",
            usage="write 2026-11-15T22:00Z, or how long ago: 90s, 30m, 2h, 7d",
        ) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _history(args: argparse.Namespace) -> int:
    rows = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/facts/changes", list[FactChangeRow])
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    cells = [
        (f"{row.at:%Y-%m-%d %H:%M:%SZ}", row.path, _format_optional(row.before), _format_optional(row.after))
        for row in rows
    ]
    print_table(["AT", "PATH", "BEFORE", "AFTER"], cells)
    return 0


def _format_optional(value: Any) -> str | None:
    return None if value is msgspec.UNSET else _format_value(value)


def machine_at(root: Path) -> Machine:
    """The machine we run on, or the system under a directory. Raises NotFoundError FACT-002 if the directory does not exist."""
    if not root.is_dir():
        raise issues.NO_DIRECTORY.error(path=root, option="--root")
    is_here = root.resolve() == Path("/")
    return Machine(Path("/"), RunningKernel()) if is_here else Machine(root, NoKernel())


def _collect(args: argparse.Namespace) -> Collection:
    machine = machine_at(args.root)
    given = _check_directories(machine, args.plugins, "--plugins")
    with module_facts(args.environment, module_paths(args)) as added:
        sources = all_sources(
            machine,
            external_directories=_check_directories(machine, args.facts_d, "--facts-d") or external.DIRECTORIES,
            plugin_directories=[*added.python, *(given or plugins.DIRECTORIES)],
            ruby_directories=added.ruby or (() if given else ruby.DIRECTORIES),
            may_trust=code_trust(args.root),
        )
        return Collector(sources).collect()


def _check_directories(machine: Machine, paths: list[str] | None, option: str) -> list[str]:
    """The directories that an option names; unlike default ones, they must exist. Raises NotFoundError FACT-002."""
    directories = [str(Path(path).absolute()) for path in paths or []]
    for path in directories:
        if not Path(machine.resolve(path)).is_dir():
            raise issues.NO_DIRECTORY.error(path=path, option=option)
    return directories


def _find(facts: Facts, old: Facts, path: str) -> Any:
    """The value at a path; the path may also be a legacy name."""
    for known in (facts, old):
        try:
            return fact_paths.find(known, path)
        except LookupError:
            continue
    raise fact_paths.unknown_path_error({**facts, **old}, path)


def _print_lines(facts: Facts) -> None:
    for path, value in fact_paths.flatten(facts):
        print(f"{visible(path)} = {_format_value(value)}")


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_value, value))}]"
    if value is None or value == {}:
        return "null" if value is None else "{}"
    return visible(str(value))
