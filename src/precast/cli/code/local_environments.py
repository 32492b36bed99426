"""Opens environments and fact files on disk for commands that compile without a server.

An environment is a directory. Files outside of it are read only from the module directories that its environment.conf names: a link that
leads outside counts as absent, so that a local compile reads what a server would have stored. In a module directory outside, a module
itself may be a link, as in packages of distributions. Modules that only some commands need are imported by the functions that use them:
applying a single manifest loads none of them.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precast.cli import issues
from precast.cli.console.files import read_bytes
from precast.lang.file_trees import FileStore
from precast.lang.hiera import issues as hiera_issues
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

if TYPE_CHECKING:
    from precast.lang.compiler.types.known_types import KnownTypes


class DirectoryTree:
    """The files below a directory, and those of module directories outside that are named in full."""

    def __init__(self, root: Path, module_paths: tuple[Path, ...] = ()) -> None:
        self._root = root.resolve()
        self._allowed = (self._root, *(path.resolve() for path in module_paths))
        self._outside = tuple(path.absolute() for path in module_paths)

    def read(self, path: str) -> bytes | None:
        place = self._resolve(path)
        if place is None and path.startswith(("/", "../")):
            self._refuse_outside(path)
        if place is None or not place.is_file():
            return None
        try:
            return place.read_bytes()
        except OSError as error:
            raise issues.NO_FILE.error(path=str(place), reason=error.strerror) from error

    def _refuse_outside(self, path: str) -> None:
        """Raise HIERA-021 for a data file that exists outside: the catalog of a server, which has no such file, would differ."""
        if "\0" not in path and (self._root / path).exists():
            raise hiera_issues.OUTSIDE.error(path=path, layer="environment")

    def names(self, path: str) -> tuple[str, ...] | None:
        place = self._resolve(path)
        if place is None or not place.is_dir():
            return None
        try:
            with os.scandir(place) as entries:
                return tuple(sorted(entry.name + ("/" if entry.is_dir() else "") for entry in entries))
        except OSError as error:
            raise issues.NO_FILE.error(path=str(place), reason=error.strerror) from error

    def _resolve(self, path: str) -> Path | None:
        if "\0" in path:
            return None
        try:
            place = (self._root / path).resolve()
            inside = any(place.is_relative_to(root) for root in self._allowed) or self._is_of_module(path, place)
        except (OSError, RuntimeError):  # the link is part of a loop
            return None
        return place if inside else None

    def _is_of_module(self, path: str, place: Path) -> bool:
        """Whether a file belongs to a module that a directory outside links to."""
        for root in self._outside:
            if path.startswith(f"{root}/"):
                module = path[len(str(root)) + 1 :].partition("/")[0]
                return module not in ("", ".", "..") and place.is_relative_to((root / module).resolve())
        return False


def open_environment(path: str, hiera: str | None = None) -> tuple[Path, FileStore, dict[str, Any]]:
    """Open an environment: its directory, its files with those of module directories outside, and its constant answers.

    `hiera` is the hiera.yaml of the global layer, whose data lies below the same directory. Raises NotFoundError CLI-010 or CLI-030,
    or InputError LANG-761 or LANG-762 for its environment.conf.
    """
    from precast.lang.compiler.environment import with_environment

    place = directory(path)
    constants = {"environment_path": str(place.resolve())}
    answers = NodeAnswers(NodeData.local("localhost", {}), FileStore(DirectoryTree(place)), constants)
    settings = with_environment(Inputs(answers), Settings())
    outside = tuple(Path(path) for path in settings.module_path if path.startswith("/"))
    if hiera is not None:
        read_bytes(hiera)  # raises, so that a mistyped name is not taken for an empty layer
        constants["hiera_config"] = str(Path(hiera).resolve())
        outside = (*outside, Path(hiera).resolve().parent)
    return place, FileStore(DirectoryTree(place, outside)), constants


def directory(path: str) -> Path:
    """The directory of an environment. Raises NotFoundError CLI-030 if it does not exist."""
    place = Path(path)
    if not place.is_dir():
        raise issues.NO_ENVIRONMENT.error(path=path)
    return place


def read_facts(path: str) -> dict[str, Any]:
    """Facts from a JSON or YAML file, as `facter --json` or `puppet facts` print them.

    Raises NotFoundError CLI-010, InputError FACT-024.
    """
    from precast.agent.facts import formats

    data = read_bytes(path)
    reader = formats.from_json if data.lstrip()[:1] == b"{" else formats.from_yaml
    facts = dict(reader("standard input" if path == "-" else path, data).facts)
    values = facts.get("values")
    # In the output of `puppet facts`, and in a stored fact set, the facts are below `values`.
    return dict(values) if isinstance(values, dict) and "name" in facts else facts


def settings_of(files: FileStore, constants: dict[str, str]) -> Settings:
    """The settings of an environment on disk, for questions that no node answers."""
    from precast.lang.compiler.environment import with_environment

    inputs = Inputs(NodeAnswers(NodeData.local("localhost", {}), files, constants))
    return with_environment(inputs, Settings())


def known_types(files: FileStore, constants: dict[str, str]) -> "KnownTypes":
    """The types that code of an environment on disk can use."""
    from precast.lang.compiler.loader import Loader
    from precast.lang.compiler.types.known_types import KnownTypes

    inputs = Inputs(NodeAnswers(NodeData.local("localhost", {}), files, constants))
    loader = Loader(inputs, settings_of(files, constants), lambda level, text: None)
    return KnownTypes(loader, inputs)
