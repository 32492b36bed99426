"""Pins the files that a catalog takes from the environment by the digests of their current content.

These are the sources of its files and archives, and the plug-ins of all modules: a node must have the facts, types and functions that
its code depends on before it applies anything. If the node applies a type with Ruby code, they include the files of its providers.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from precast.catalog.body import PLUGIN_SCHEME
from precast.lang.compiler.resources import Resource, flatten
from precast.lang.compiler.types.bridged_types import bridged_types, library_of
from precast.lang.inputs import ABSENT, Listing, ModulePlugins

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation

_SCHEME = "puppet:///modules/"
_TYPES_WITH_SOURCE = ("file", "concat_fragment", "archive")


def pinned_content(compilation: "Compilation", resources: Sequence[Resource]) -> dict[str, str]:
    """Digests by source, for a directory those of all files below it. The agent reports a source that does not exist."""
    pinned: dict[str, str] = {}
    for resource in resources:
        source = resource.value("source") if resource.type_name in _TYPES_WITH_SOURCE else None
        for uri in flatten(source) if source is not None else ():
            if isinstance(uri, str) and uri.startswith(_SCHEME):
                pinned.update(_pins(compilation, uri))
    for name, digest in compilation.inputs.ask(ModulePlugins(compilation.settings.module_path)):
        pinned[PLUGIN_SCHEME + name] = digest
    if types := bridged_types(compilation, resources):
        pinned.update((PLUGIN_SCHEME + name, digest) for name, digest in library_of(compilation, types))
    return pinned


def _pins(compilation: "Compilation", source: str) -> Iterator[tuple[str, str]]:
    module, _, path = source.removeprefix(_SCHEME).partition("/")
    directory = compilation.loader.module_directory(module)
    if directory is None:
        return
    yield from _below(compilation, source.rstrip("/"), f"{directory}/files/{path}".rstrip("/"))


def _below(compilation: "Compilation", source: str, path: str) -> Iterator[tuple[str, str]]:
    digest = compilation.inputs.digest(path)
    if digest is not None:
        yield source, digest
        return
    names = compilation.inputs.ask(Listing(path))
    if names is not ABSENT:
        for name in names:
            inner = name.rstrip("/")
            yield from _below(compilation, f"{source}/{inner}", f"{path}/{inner}")
