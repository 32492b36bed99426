"""`precast env facts`: the facts that modules add in Ruby, and what replaces them.

Nodes run no Ruby. Facts that Precast collects itself need no replacement, and data and programs in `facts.d` work unchanged. Every other
fact needs a Python file in the module, which Precast may provide or the user has to write.
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
EXTERNAL = "works unchanged: put it into /etc/precast/facts.d"


class ModuleFact(NamedTuple):
    """A fact of a module, where it comes from, and what replaces it; `is_open` if the replacement has to be written."""

    fact: str
    module: str
    place: str
    replacement: str
    is_open: bool


def configure(commands: Any) -> None:
    summary = "show the facts that modules add in Ruby, and what replaces them"
    command: argparse.ArgumentParser = commands.add_parser("facts", help=summary, description=summary)
    command.add_argument(
        "--environment", metavar="DIR", default=".", help="the environment's directory (default: the current one)"
    )
    command.add_argument("--open", action="store_true", help="only facts without a replacement")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    _, files, constants = open_environment(args.environment)
    inputs = Inputs(NodeAnswers(NodeData.local("localhost", {}), files, constants))
    modules = files.modules(with_environment(inputs, Settings()).module_path)
    own = _own_facts()
    rows = [row for name, path in modules.items() for row in _module_facts(name, path, files, own)]
    shown = [row for row in rows if row.is_open or not args.open]
    if args.json:
        print_json([row._asdict() for row in shown])
        return 0
    print_table(["FACT", "MODULE", "WHERE", "REPLACED BY"], [row[:4] for row in shown])
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


def _module_facts(name: str, path: str, files: FileStore, own: frozenset[str]) -> list[ModuleFact]:
    ours = {
        file_name.removesuffix(".py")
        for file_name in _names(files, f"{path}/precast/facts")
        if file_name.endswith(".py")
    }
    rows: list[ModuleFact] = []
    for file in _ruby_files(files, f"{path}/lib/facter"):
        digest = files.digest(file)
        if digest is ABSENT:
            continue
        code = load_ruby_file(file, digest, files.content(digest).decode("utf-8", "replace"))
        inside = file.removeprefix(f"{path}/")
        if code is None:
            rows.append(
                ModuleFact(
                    "?", name, inside, "the file cannot be parsed: read it to see which facts it adds", is_open=True
                )
            )
            continue
        for fact in added_facts(code):
            shown = fact.name or "?"
            replacement, is_open = _replacement(fact.name, name, ours, own)
            rows.append(ModuleFact(shown, name, f"{inside}:{fact.line}", replacement, is_open))
    external = _names(files, f"{path}/facts.d")
    return rows + [ModuleFact("?", name, f"facts.d/{file_name}", EXTERNAL, is_open=False) for file_name in external]


def _replacement(fact: str | None, module: str, ours: set[str], own: frozenset[str]) -> tuple[str, bool]:
    if fact is None:
        return "its name is computed on the node: read the file", True
    if fact in own:
        return OWN, False
    if fact in ours:
        return f"{module}/precast/facts/{fact}.py", False
    return f"write {module}/precast/facts/{fact}.py", True


def _names(files: FileStore, path: str) -> list[str]:
    names = files.names(path)
    return [] if names is ABSENT else list(names)


def _ruby_files(files: FileStore, path: str) -> list[str]:
    """The Ruby files that Facter loads: those of the directory itself; files below it are only used by those."""
    return [f"{path}/{name}" for name in _names(files, path) if name.endswith(".rb")]
