"""`precast env facts`: the facts that modules add in Ruby, and what takes their place.

Nodes run no Ruby. A fact that Precast collects itself needs nothing; data and programs in `facts.d` work as they are; for the rest a
module brings a Python file of ours, or somebody writes it.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from precast.cli.code.local_environments import open_environment
from precast.cli.console.output import print_json, print_table
from precast.lang.compiler.environment import with_environment
from precast.lang.file_trees import FileStore
from precast.lang.inputs import ABSENT, Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.ruby.declarations.facts import added_facts
from precast.lang.ruby.declarations.ruby_file import load_ruby_file
from precast.lang.settings import Settings

OWN = "Precast collects it"
EXTERNAL = "works as it is: put it into /etc/precast/facts.d"


class Row(NamedTuple):
    """A fact of a module, where it comes from, and what replaces it; `is_open` if somebody has to do something."""

    fact: str
    module: str
    place: str
    replacement: str
    is_open: bool


def configure(commands: Any) -> None:
    summary = "facts that modules add in Ruby, and what takes their place"
    command: argparse.ArgumentParser = commands.add_parser("facts", help=summary, description=summary)
    command.add_argument(
        "--environment", metavar="DIR", default=".", help="the environment's directory (default: here)"
    )
    command.add_argument("--open", action="store_true", help="only those that nothing replaces yet")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    _, files, constants = open_environment(args.environment)
    inputs = Inputs(NodeAnswers(NodeData.local("localhost", {}), files, constants))
    modules = files.modules(with_environment(inputs, Settings()).module_path)
    own = _own_facts()
    rows = [row for name, path in modules.items() for row in _of_module(name, path, files, own)]
    shown = [row for row in rows if row.is_open or not args.open]
    if args.json:
        print_json([row._asdict() for row in shown])
        return 0
    print_table(["FACT", "MODULE", "WHERE", "REPLACED BY"], [row[:4] for row in shown])
    print(f"\n{len(rows)} facts of {len(modules)} modules, {sum(row.is_open for row in rows)} to be written")
    return 0


def _own_facts() -> frozenset[str]:
    """The names that Precast collects here, with facter's old ones."""
    from precast.agent.facts.collection import Collector
    from precast.agent.facts.legacy import legacy_facts
    from precast.agent.facts.machine import Machine
    from precast.agent.facts.registry import sources
    from precast.agent.facts.running_kernel import RunningKernel

    collected = Collector(sources(Machine(Path("/"), RunningKernel()))).collect()
    return frozenset((*collected.facts, *legacy_facts(collected.facts)))


def _of_module(name: str, path: str, files: FileStore, own: frozenset[str]) -> list[Row]:
    ours = {each.removesuffix(".py") for each in _names(files, f"{path}/precast/facts") if each.endswith(".py")}
    rows: list[Row] = []
    for file in _ruby_files(files, f"{path}/lib/facter"):
        digest = files.digest(file)
        if digest is ABSENT:
            continue
        code = load_ruby_file(file, digest, files.content(digest).decode("utf-8", "replace"))
        inside = file.removeprefix(f"{path}/")
        if code is None:
            rows.append(Row("?", name, inside, "the file cannot be read: look at what it adds", is_open=True))
            continue
        for fact in added_facts(code):
            shown = fact.name or "?"
            replacement, is_open = _replacement(fact.name, name, ours, own)
            rows.append(Row(shown, name, f"{inside}:{fact.line}", replacement, is_open))
    external = _names(files, f"{path}/facts.d")
    return rows + [Row("?", name, f"facts.d/{each}", EXTERNAL, is_open=False) for each in external]


def _replacement(fact: str | None, module: str, ours: set[str], own: frozenset[str]) -> tuple[str, bool]:
    if fact is None:
        return "its name is worked out on the node: look at the file", True
    if fact in own:
        return OWN, False
    if fact in ours:
        return f"{module}/precast/facts/{fact}.py", False
    return f"write {module}/precast/facts/{fact}.py", True


def _names(files: FileStore, path: str) -> list[str]:
    names = files.names(path)
    return [] if names is ABSENT else list(names)


def _ruby_files(files: FileStore, path: str) -> list[str]:
    """Facter loads what stands in the folder itself; what is below is for those files to use."""
    return [f"{path}/{name}" for name in _names(files, path) if name.endswith(".rb")]
