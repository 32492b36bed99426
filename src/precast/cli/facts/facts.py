"""`precast facts`: what a machine says about itself."""

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from precast.agent import issues
from precast.agent.facts import external, fact_paths, plugins
from precast.agent.facts.collection import Collection, Collector, all_sources
from precast.agent.facts.legacy import legacy_facts
from precast.agent.facts.machine import Facts, Machine, NoKernel
from precast.agent.facts.running_kernel import RunningKernel
from precast.base.setting_values import InvalidValueError, read_duration
from precast.base.spans import visible
from precast.cli import issues as cli_issues
from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.cli.query.targets import add_targets, targets_of, tell_claims
from precast.wire.facts import FactChangeRow, FactsDifference, FactsView
from precast.wire.nodes.bodies import NodesAction, NodesActionResult

DIFFERS = 1


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    summary = "collect the facts of this machine and print them"
    local = commands.add_parser("local", help=summary, description=summary)
    local.add_argument(
        "paths", metavar="PATH", nargs="*", help="a fact or a part of one, as os.release.major; default: all"
    )
    local.add_argument("--json", action="store_true", help="print one JSON document")
    local.add_argument("--legacy", action="store_true", help="also print facter's flat names, such as ipaddress_eth0")
    local.add_argument("--root", metavar="DIR", type=Path, default=Path("/"), help="the system under this directory")
    local.add_argument(
        "--facts-d",
        metavar="DIR",
        action="append",
        help="external facts from here, not from /etc/precast/facts.d and facter's",
    )
    local.add_argument(
        "--plugins", metavar="DIR", action="append", help=f"Python facts from here, not from {plugins.DIRECTORIES[-1]}"
    )
    local.add_argument("--environment", metavar="DIR", help="also the Python facts of the modules of this environment")
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
            added.add_argument("paths", metavar="PATH", nargs="*", help="a fact or a part of one; default: all")
    _add_difference(commands)
    summary = "have nodes collect their facts and send them"
    collect = commands.add_parser("collect", help=summary, description=summary)
    add_connection(collect)
    add_targets(collect)
    collect.add_argument("--why", metavar="TEXT", default="", help="a reason, for the audit log")
    collect.set_defaults(run=_collect_now)


def _add_difference(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    summary = "show how a node's facts differ from another's, or from what they were"
    difference = commands.add_parser("diff", help=summary, description=summary)
    add_connection(difference)
    difference.add_argument("node", metavar="NODE")
    difference.add_argument("other", metavar="OTHER", nargs="?", help="another node")
    difference.add_argument("--since", metavar="TIME", help="a time as 2026-11-15T22:00Z, or how long ago: 2h, 7d")
    difference.set_defaults(run=_differ)
    declare_exits(difference, {DIFFERS: "they differ"})


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
        print(_word(value))
    else:
        _print_lines(shown)
    return 0


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/facts", FactsView)
    shown = {path: _find(view.facts, legacy_facts(view.facts), path) for path in args.paths} if args.paths else view.facts
    if args.json:
        print_json({**msgspec.to_builtins(view), "facts": shown})
        return 0
    _print_lines(shown)
    print(f"\nreceived {view.received_at:%Y-%m-%d %H:%M:%SZ}; {view.decision}")
    return 0


def _collect_now(args: argparse.Namespace) -> int:
    body = NodesAction(targets_of(args), args.why)
    told = connect(args).ask("POST", "/v1/collections", NodesActionResult, body)
    tell_claims(told.rests_on_claims)
    if args.json:
        print_json(msgspec.to_builtins(told))
    else:
        print(f"told {len(told.touched)}: {', '.join(told.touched[:10])}{' …' if len(told.touched) > 10 else ''}")
    return 0


def _differ(args: argparse.Namespace) -> int:
    if (args.other is None) is (args.since is None):
        raise cli_issues.USAGE.error(problem="give OTHER, or --since TIME", usage="see `precast facts diff --help`")
    query = {"other": args.other} if args.other is not None else {"since": _moment(args.since).isoformat()}
    path = f"/v1/nodes/{segment(args.node)}/facts/difference"
    found = connect(args).ask("GET", path, FactsDifference, query=query)
    if args.json:
        print_json(msgspec.to_builtins(found))
    elif found.differences:
        rows = [(one.path, _was(one.left), _was(one.right)) for one in found.differences]
        print_table(["PATH", found.left, found.right], rows)
    else:
        print("no difference in what does not change by nature")
    return DIFFERS if found.differences else 0


def _moment(text: str) -> datetime:
    """A time, or how long ago."""
    try:
        return datetime.now(UTC) - read_duration(text)
    except InvalidValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise cli_issues.USAGE.error(
            problem=f"--since {text!r} is no time", usage="write 2026-11-15T22:00Z, or how long ago: 90s, 30m, 2h, 7d"
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _history(args: argparse.Namespace) -> int:
    rows = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/facts/changes", list[FactChangeRow])
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    cells = [(f"{row.at:%Y-%m-%d %H:%M:%SZ}", row.path, _was(row.before), _was(row.after)) for row in rows]
    print_table(["AT", "PATH", "BEFORE", "AFTER"], cells)
    return 0


def _was(value: Any) -> str | None:
    return None if value is msgspec.UNSET else _word(value)


def machine_at(root: Path) -> Machine:
    """The machine we run on, or the system under a directory. Raises NotFoundError FACT-002 if that is none."""
    if not root.is_dir():
        raise issues.NO_DIRECTORY.error(path=root, option="--root")
    is_here = root.resolve() == Path("/")
    return Machine(Path("/"), RunningKernel()) if is_here else Machine(root, NoKernel())


def _collect(args: argparse.Namespace) -> Collection:
    machine = machine_at(args.root)
    directories = _given(machine, args.plugins, "--plugins") or list(plugins.DIRECTORIES)
    with tempfile.TemporaryDirectory(prefix="precast-") as place:
        if args.environment is not None:
            directories.insert(0, _of_modules(args.environment, Path(place)))
        sources = all_sources(
            machine,
            external_directories=_given(machine, args.facts_d, "--facts-d") or external.DIRECTORIES,
            plugin_directories=directories,
        )
        return Collector(sources).collect()


def _of_modules(environment: str, place: Path) -> str:
    """The facts that modules of an environment bring, put in place as they will be on a node."""
    from precast.agent.catalog.plugins import write_plugins
    from precast.catalog.body import PLUGIN_SCHEME
    from precast.cli.code.local_environments import open_environment
    from precast.lang.node_answers import NodeAnswers, NodeData
    from precast.lang.compiler.environment import with_environment
    from precast.lang.inputs import Inputs
    from precast.lang.settings import Settings

    _, files, constants = open_environment(environment)
    settings = with_environment(Inputs(NodeAnswers(NodeData.local("localhost", {}), files, constants)), Settings())
    content = {PLUGIN_SCHEME + name: digest for name, digest in files.plugins(settings.module_path)}
    write_plugins(place, content, files.content)
    return str(place / "facts")


def _given(machine: Machine, paths: list[str] | None, option: str) -> list[str]:
    """Directories of the command line. The usual ones may be missing; one that is asked for may not."""
    found = [str(Path(path).absolute()) for path in paths or []]
    for path in found:
        if not Path(machine.resolve(path)).is_dir():
            raise issues.NO_DIRECTORY.error(path=path, option=option)
    return found


def _find(facts: Facts, old: Facts, path: str) -> Any:
    """What a path leads to; an old name too, if it is asked for."""
    for known in (facts, old):
        try:
            return fact_paths.find(known, path)
        except LookupError:
            continue
    raise fact_paths.unknown_path_error({**facts, **old}, path)


def _print_lines(facts: Facts) -> None:
    for path, value in fact_paths.flatten(facts):
        print(f"{visible(path)} = {_word(value)}")


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_word, value))}]"
    if value is None or value == {}:
        return "null" if value is None else "{}"
    return visible(str(value))
