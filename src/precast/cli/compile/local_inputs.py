"""The inputs of a compile on this machine: an environment or a manifest, and facts. Opening them does not load the language."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precast.base import digests
from precast.base.spans import Source
from precast.catalog.body import Body
from precast.cli.code.local_environments import DirectoryTree, open_environment
from precast.cli.compile.node_inputs import make_node, make_settings
from precast.cli.console.exports import read_exports
from precast.cli.console.files import read_source
from precast.cli.facts.local_facts import local_facts
from precast.cli.facts.module_facts import module_paths
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

if TYPE_CHECKING:
    from precast.agent.applying.machine import Contents
    from precast.agent.applying.value_binder import CallFunction

NOWHERE = Path(os.devnull)
_MODULES = "puppet:///modules/"


def inputs_of(args: argparse.Namespace, certname: str) -> tuple[Inputs, Settings]:
    """The inputs of a local compile. No fact becomes a hole, because no other node shares the catalog."""
    node = node_of(args, certname)
    exports = read_exports(args)
    options: dict[str, Any] = {"identity_facts": (), "identity_trusted": (), "storeconfigs": exports is not None}
    paths = module_paths(args)
    if paths:
        options["module_path"] = tuple(map(str, paths))
    settings = make_settings(args, **options)
    if args.environment is None and not paths:
        return Inputs(NodeAnswers(node, FileStore(TextTree({})), exports=exports)), settings
    if args.environment is None:
        return Inputs(NodeAnswers(node, FileStore(DirectoryTree(NOWHERE, tuple(paths))), exports=exports)), settings
    place, files, constants = open_environment(args.environment)
    if paths:
        files = FileStore(DirectoryTree(place, tuple(paths)))
    return Inputs(NodeAnswers(node, files, constants, exports=exports)), settings


def node_of(args: argparse.Namespace, certname: str) -> NodeData:
    """The data of this machine for a compile."""
    facts = None if args.facts else local_facts(args.root, args.environment, module_paths(args))
    return make_node(args, certname, facts, authenticated="local")


def manifest_of(args: argparse.Namespace) -> Source | None:
    """The code of --execute or of the manifest argument; None for the manifests of the environment."""
    if args.execute is not None:
        return Source("code", args.execute)
    return read_source(args.manifest) if args.manifest is not None else None


def functions_of(args: argparse.Namespace, certname: str) -> "CallFunction":
    """The function that evaluates Deferred values; the language is loaded only if there is one."""

    def call(name: str, arguments: list[Any]) -> Any:
        from precast.agent.applying.deferred_functions import DeferredFunctions

        return DeferredFunctions(*inputs_of(args, certname)).call(name, arguments)

    return call


def contents_of(args: argparse.Namespace, pinned: Mapping[str, str], name: str) -> "Contents | None":
    """The contents of sources: from the environment's modules and from --modulepath."""
    if not pinned or (args.environment is None and not args.modulepath):
        return None
    from precast.resources.contents import EnvironmentContents

    return EnvironmentContents(module_directories(args, name), pinned)


def module_directories(args: argparse.Namespace, name: str) -> list[Path]:
    """Every directory with modules, in the order in which they are searched."""
    from precast.lang.compiler.environment import with_environment

    place = Path(args.environment or NOWHERE).resolve()
    return [place / part for part in with_environment(*inputs_of(args, name)).module_path]


def pin_local_sources(body: Body, directories: Sequence[Path]) -> dict[str, str]:
    """The digests of the sources of a catalog of Puppet's, which pins none, computed from the local modules."""
    pinned: dict[str, str] = {}
    for source in _sources(body):
        module, _, path = source.removeprefix(_MODULES).partition("/")
        place = next((root / module / "files" / path for root in directories if (root / module).is_dir()), None)
        if place is not None and place.is_file():
            pinned[source] = digests.of_bytes(place.read_bytes())
        elif place is not None and place.is_dir():
            below = (file for file in sorted(place.rglob("*")) if file.is_file())
            pinned |= {f"{source}/{file.relative_to(place)}": digests.of_bytes(file.read_bytes()) for file in below}
    return pinned


def _sources(body: Body) -> Iterator[str]:
    for resource in body.resources:
        value = resource.parameters.get("source") if resource.type == "File" else None
        for source in value if isinstance(value, list) else (value,):
            if isinstance(source, str) and source.startswith(_MODULES):
                yield source.rstrip("/")
