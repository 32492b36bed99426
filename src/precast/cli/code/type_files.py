"""The files in which modules of an environment declare types and providers."""

from collections.abc import Iterator
from typing import NamedTuple

from precast.lang.file_trees import FileStore
from precast.lang.inputs import ABSENT

_TYPES = (("lib/puppet/type", ".rb"), ("precast/types", ".py"))


class TypeFile(NamedTuple):
    """A file that declares the type of its name, or a provider of it."""

    type_name: str
    path: str


def type_files(files: FileStore, module: str) -> Iterator[TypeFile]:
    """The types of the module at this path, in the order of their names."""
    for folder, suffix in _TYPES:
        for name in _names(files, f"{module}/{folder}"):
            if name.endswith(suffix):
                yield TypeFile(name.removesuffix(suffix).lower(), f"{module}/{folder}/{name}")


def provider_files(files: FileStore, module: str) -> Iterator[TypeFile]:
    """The providers of the module at this path."""
    folder = f"{module}/lib/puppet/provider"
    for directory in _names(files, folder):
        if directory.endswith("/"):
            for name in _names(files, f"{folder}/{directory.rstrip('/')}"):
                if name.endswith(".rb"):
                    yield TypeFile(directory.rstrip("/").lower(), f"{folder}/{directory}{name}")


def _names(files: FileStore, directory: str) -> tuple[str, ...]:
    names = files.names(directory)
    return () if names is ABSENT else tuple(names)
