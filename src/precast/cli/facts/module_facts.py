"""The facts of the modules of a local environment, written to a temporary directory as a node stores them."""

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from precast.cli.code.local_environments import DirectoryTree, directory, open_environment


class ModuleFacts(NamedTuple):
    """The directories with facts in Python and in Ruby; empty if nothing was asked for."""

    python: list[str]
    ruby: list[str]


def module_paths(args: argparse.Namespace) -> list[Path]:
    """The directories of --modulepath. Raises NotFoundError CLI-030."""
    return [directory(part).resolve() for part in (args.modulepath or "").split(":") if part]


@contextlib.contextmanager
def module_facts(environment: str | None, paths: Sequence[Path]) -> Iterator[ModuleFacts]:
    """Write the facts of the modules of an environment, or of directories with modules, which then replace those of the environment."""
    if environment is None and not paths:
        yield ModuleFacts([], [])
        return
    import tempfile  # a run of which nothing has changed should not pay for it

    with tempfile.TemporaryDirectory(prefix="precast-") as name:
        place = Path(name).resolve()
        _write(environment, paths, place)
        yield ModuleFacts([str(place / "facts")], [str(place / "ruby_facts")])


def _write(environment: str | None, paths: Sequence[Path], place: Path) -> None:
    from precast.agent.catalog.plugins import write_plugins
    from precast.catalog.body import PLUGIN_SCHEME
    from precast.lang.compiler.environment import with_environment
    from precast.lang.file_trees import FileStore
    from precast.lang.inputs import Inputs
    from precast.lang.node_answers import NodeAnswers, NodeData
    from precast.lang.settings import Settings

    roots = tuple(map(str, paths))
    if roots:
        files = FileStore(DirectoryTree(Path(environment or os.devnull), tuple(paths)))
    else:
        assert environment is not None
        _, files, constants = open_environment(environment)
        inputs = Inputs(NodeAnswers(NodeData.local("localhost", {}), files, constants))
        roots = with_environment(inputs, Settings()).module_path
    content = {PLUGIN_SCHEME + name: digest for name, digest in files.plugins(roots)}
    write_plugins(place, content, files.content)
