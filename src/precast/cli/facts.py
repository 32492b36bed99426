"""`precast facts`: what a machine says about itself."""

import argparse
import sys
from pathlib import Path
from typing import Any

from precast.agent import issues
from precast.agent.facts import external, paths, plugins
from precast.agent.facts.collection import Collection, Collector, all_sources
from precast.agent.facts.legacy import legacy
from precast.agent.facts.machine import Facts, Machine, NoKernel
from precast.agent.facts.running_kernel import RunningKernel
from precast.base.spans import visible
from precast.cli.output import print_json


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
        "--plugins", metavar="DIR", action="append", help=f"Python facts from here, not from {plugins.DIRECTORIES[0]}"
    )
    local.set_defaults(run=_local)


def _local(args: argparse.Namespace) -> int:
    collected = _collect(args)
    for warning in collected.warnings:
        print(f"precast: warning: {visible(warning.message)} [{warning.code}]", file=sys.stderr)
    old = legacy(collected.facts)
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


def _collect(args: argparse.Namespace) -> Collection:
    if not args.root.is_dir():
        raise issues.NO_DIRECTORY.error(path=args.root, option="--root")
    is_here = args.root.resolve() == Path("/")
    machine = Machine(Path("/"), RunningKernel()) if is_here else Machine(args.root, NoKernel())
    sources = all_sources(
        machine,
        external_directories=_given(machine, args.facts_d, "--facts-d") or external.DIRECTORIES,
        plugin_directories=_given(machine, args.plugins, "--plugins") or plugins.DIRECTORIES,
    )
    return Collector(sources).collect()


def _given(machine: Machine, paths: list[str] | None, option: str) -> list[str]:
    """Directories of the command line. The usual ones may be missing; one that is asked for may not."""
    found = [str(Path(path).absolute()) for path in paths or []]
    for path in found:
        if not Path(machine.place(path)).is_dir():
            raise issues.NO_DIRECTORY.error(path=path, option=option)
    return found


def _find(facts: Facts, old: Facts, path: str) -> Any:
    """What a path leads to; an old name too, if it is asked for."""
    for known in (facts, old):
        try:
            return paths.find(known, path)
        except LookupError:
            continue
    raise paths.unknown({**facts, **old}, path)


def _print_lines(facts: Facts) -> None:
    for path, value in paths.flatten(facts):
        print(f"{visible(path)} = {_word(value)}")


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_word, value))}]"
    if value is None or value == {}:
        return "null" if value is None else "{}"
    return visible(str(value))
