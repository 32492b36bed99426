"""Compiles what is to be applied here: a manifest, or an environment's own, with this machine's facts."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from precast.base.spans import Source
from precast.cli.environments import DirectoryTree, directory, open_environment, read_facts
from precast.cli.eval import print_logs
from precast.cli.files import read_source
from precast.cli.local_facts import local_facts
from precast.lang.answers import FileStore, NodeAnswers, NodeData, TextTree
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings

if TYPE_CHECKING:
    from precast.agent.applying.binding import CallFunction
    from precast.agent.applying.machine import Contents

NOWHERE = Path(os.devnull)


class Compiled(NamedTuple):
    """A catalog, with what its apply needs of the compile."""

    result: CompileResult
    inputs: Inputs
    settings: Settings


def compile_here(args: argparse.Namespace, certname: str) -> Compiled:
    """The catalog of this machine. Prints what the compile says. Raises what it raises."""
    inputs, settings = inputs_of(args, certname)
    manifest = _manifest(args)
    try:
        result = compile_catalog(inputs, settings, manifest)
    except CompileFailure as failure:
        print_logs(failure.logs, inputs)
        raise failure.error from None
    print_logs(result.logs, inputs)
    return Compiled(result, inputs, settings)


def inputs_of(args: argparse.Namespace, certname: str) -> tuple[Inputs, Settings]:
    """What a compile here reads. No fact stays open: there is only this node to share the catalog with."""
    node = node_of(args, certname)
    options: dict[str, Any] = {"identity_facts": (), "identity_trusted": ()}
    paths = module_paths(args)
    if paths:
        options["module_path"] = tuple(map(str, paths))
    settings = Settings.puppet8(**options) if args.strict else Settings(**options)
    if args.environment is None and not paths:
        return Inputs(NodeAnswers(node, FileStore(TextTree({})))), settings
    if args.environment is None:
        return Inputs(NodeAnswers(node, FileStore(DirectoryTree(NOWHERE, tuple(paths))))), settings
    place, files, constants = open_environment(args.environment)
    if paths:
        files = FileStore(DirectoryTree(place, tuple(paths)))
    return Inputs(NodeAnswers(node, files, constants)), settings


def node_of(args: argparse.Namespace, certname: str) -> NodeData:
    """This machine as a compile knows it."""
    facts: dict[str, Any] = read_facts(args.facts) if args.facts else local_facts(args.root)
    return NodeData.local(certname, facts)


def module_paths(args: argparse.Namespace) -> list[Path]:
    """Directories with modules that were named beside the environment. Raises NotFoundError CLI-030."""
    return [directory(part).resolve() for part in (args.modulepath or "").split(":") if part]


def functions_of(compiled: Compiled) -> "CallFunction":
    """What calls functions for Deferred values; the language is only asked if there is one."""

    def call(name: str, arguments: list[Any]) -> Any:
        from precast.agent.applying.deferred import Functions

        return Functions(compiled.inputs, compiled.settings).call(name, arguments)

    return call


def contents_of(args: argparse.Namespace, pinned: Mapping[str, str], name: str) -> "Contents | None":
    """Where the content of sources comes from: the environment's modules, and those beside it."""
    if not pinned or (args.environment is None and not args.modulepath):
        return None
    from precast.lang.compiler.environment import with_environment
    from precast.resources.contents import EnvironmentContents

    place = Path(args.environment or NOWHERE).resolve()
    return EnvironmentContents([place / part for part in with_environment(*inputs_of(args, name)).module_path], pinned)


def _manifest(args: argparse.Namespace) -> Source | None:
    if args.execute is not None:
        return Source("code", args.execute)
    return read_source(args.manifest) if args.manifest is not None else None
