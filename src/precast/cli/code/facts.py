"""`precast env facts`: the facts that modules add in Ruby, and how nodes get them.

Nodes read most of them as they are. A fact that needs more of Ruby is listed with the place and the reason: it needs a Python file in the
module. Data and programs in `facts.d` work unchanged in /etc/precast/facts.d.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from precast.cli.code.local_environments import open_environment
from precast.cli.console.output import print_json, print_table
from precast.lang.compiler.environment import with_environment
from precast.lang.file_trees import FileStore
from precast.lang.inputs import ABSENT, Inputs
from precast.lang.module_facts.checking import FactStatus, check_facts
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

OWN = "Precast collects it"
RUNS = "nodes read the Ruby file"
EXTERNAL = "works unchanged: put it into /etc/precast/facts.d"


class ModuleFact(NamedTuple):
    """A fact of a module, where it comes from, and how nodes get it; `is_open` if a file has to be written for that."""

    fact: str
    module: str
    place: str
    how: str
    is_open: bool


def configure(commands: Any) -> None:
    summary = "show the facts that modules add in Ruby, and how nodes get them"
    command: argparse.ArgumentParser = commands.add_parser("facts", help=summary, description=summary)
    command.add_argument(
        "--environment", metavar="DIR", default=".", help="the environment's directory (default: the current one)"
    )
    command.add_argument("--open", action="store_true", help="only facts that nodes cannot read, with the reason")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    _, files, constants = open_environment(args.environment)
    inputs = Inputs(NodeAnswers(NodeData.local("localhost", {}), files, constants))
    roots = with_environment(inputs, Settings()).module_path
    modules = files.modules(roots)
    own, statuses = _own_facts(), check_facts(files, roots)
    rows = [row for name, path in modules.items() for row in _module_facts(name, path, files, own, statuses)]
    shown = [row for row in rows if row.is_open or not args.open]
    if args.json:
        print_json([row._asdict() for row in shown])
        return 0
    print_table(["FACT", "MODULE", "WHERE", "HOW"], [row[:4] for row in shown])
    print(f"\n{len(rows)} facts of {len(modules)} modules, {sum(row.is_open for row in rows)} to be written")
    return 0


def _own_facts() -> frozenset[str]:
    """The names of the facts that Precast collects on this machine, with the legacy names of facter."""
    from precast.agent.facts.collection import Collector
    from precast.agent.facts.machine import Machine
    from precast.agent.facts.registry import sources
    from precast.agent.facts.running_kernel import RunningKernel
    from precast.lang.legacy_facts import legacy_facts

    collected = Collector(sources(Machine(Path("/"), RunningKernel()))).collect()
    return frozenset((*collected.facts, *legacy_facts(collected.facts)))


def _module_facts(
    name: str, path: str, files: FileStore, own: frozenset[str], statuses: list[FactStatus]
) -> list[ModuleFact]:
    ours = {
        file_name.removesuffix(".py")
        for file_name in _names(files, f"{path}/precast/facts")
        if file_name.endswith(".py")
    }
    rows: list[ModuleFact] = []
    for status in statuses:
        if status.module == name:
            place = f"{status.path.removeprefix(f'{path}/')}:{status.line}"
            rows.append(ModuleFact(status.name or "?", name, place, *_how(status, ours, own, path)))
    external = _names(files, f"{path}/facts.d")
    return rows + [ModuleFact("?", name, f"facts.d/{file_name}", EXTERNAL, is_open=False) for file_name in external]


def _how(status: FactStatus, ours: set[str], own: frozenset[str], path: str) -> tuple[str, bool]:
    """How nodes get a fact, and whether a file has to be written for that."""
    if status.name is not None and status.name in own:
        return OWN, False
    if status.name in ours:
        return f"{status.module}/precast/facts/{status.name}.py", False
    if status.finding is None:
        return RUNS, False
    place = f"{status.finding.path.removeprefix(f'{path}/')}:{status.finding.line}"
    file = "a file in" if status.name is None else f"{status.name}.py in"
    return f"cannot be read ({place}: {status.finding.reason}): write {file} {status.module}/precast/facts", True


def _names(files: FileStore, path: str) -> list[str]:
    names = files.names(path)
    return [] if names is ABSENT else list(names)
