"""Managed types read from modules' Ruby files, once per content.

A compile asks for every file that a type led to, even if the result is cached: its trace does not depend on what the process read
before.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from precast.lang.compiler.loader import Loader
from precast.lang.inputs import ABSENT, Inputs, Listing
from precast.lang.ruby.declarations.config_files import is_candidate, read_config_file
from precast.lang.ruby.declarations.ruby_file import RubyFile, load_ruby_file
from precast.lang.ruby.declarations.types import NotThisType, read_type
from precast.types.declaration import ManagedType

# Results by the type's file and digest, and what else they depend on: the further files it led to, and the type by these files' digests.
# The size is limited like that of the loader's units.
_read: Final[dict[tuple[str, ...], tuple[tuple[str, ...], dict[tuple[str | None, ...], ManagedType | None]]]] = {}
_MAX_READ: Final = 2000


def type_in(path: str, name: str, loader: Loader, inputs: Inputs) -> ManagedType | None:
    """The type with a name that a file declares; None if the file does not exist or declares other types."""
    type_file = inputs.text(path)
    if type_file is None:
        return None
    file = load_ruby_file(path, *type_file)

    def read(library: "_Library") -> ManagedType | None:
        try:
            return msgspec.structs.replace(read_type(name, file, library.file), code="ruby")
        except NotThisType:
            return None

    declared = _read_once((path, type_file[0]), _Library(loader, inputs), read)
    if declared is None or file is None or not is_candidate(declared):
        return declared
    providers = _provider_files(name, loader, inputs)

    def add_config_file(library: "_Library") -> ManagedType:
        found = read_config_file(declared, file, providers, library.file)
        return msgspec.structs.replace(declared, config_file=found)

    return _read_once((path, type_file[0], *providers), _Library(loader, inputs), add_config_file)


def _read_once(
    key: tuple[str, ...], library: "_Library", read: Callable[["_Library"], ManagedType | None]
) -> ManagedType | None:
    """The result for a key: the cached one, if the files it led to are the same."""
    asked, known = _read.get(key, ((), {}))
    digests = tuple(library.digest(helper) for helper in asked)
    if digests in known:
        return known[digests]
    if len(_read) >= _MAX_READ:
        _read.clear()
    declared = read(library)
    # Which files come first depends on the type's file alone; a helper that leads to other files is read again.
    _read[key] = tuple(library.asked), {tuple(library.digest(helper) for helper in library.asked): declared}
    return declared


def _provider_files(name: str, loader: Loader, inputs: Inputs) -> tuple[str, ...]:
    """The names of a type's provider files, in the first module that has any."""
    directory = loader.module_file(f"lib/puppet/provider/{name}")
    names = ABSENT if directory is None else inputs.ask(Listing(directory))
    return () if names is ABSENT else tuple(names)


class _Library:
    """The files below `lib` of modules, with a record of those asked for."""

    def __init__(self, loader: Loader, inputs: Inputs) -> None:
        self._loader = loader
        self._inputs = inputs
        self.asked: dict[str, None] = {}

    def file(self, path: str) -> RubyFile | None:
        self.asked[path] = None
        location = self._loader.module_file(f"lib/{path}")
        text = self._inputs.text(location) if location is not None else None
        return None if location is None or text is None else load_ruby_file(location, *text)

    def digest(self, path: str) -> str | None:
        location = self._loader.module_file(f"lib/{path}")
        return None if location is None else self._inputs.digest(location)
