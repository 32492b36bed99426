"""Pins the files that a catalog takes from the environment, with the digest of what each holds now.

These are the sources of its files, and the plug-ins of all modules: a node must have the facts, types and functions that its code
rests on before it applies anything.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from precast.catalog.body import PLUGIN_SCHEME
from precast.lang.compiler.resources import Resource, flatten
from precast.lang.inputs import ABSENT, Listing, ModulePlugins

if TYPE_CHECKING:
    from precast.lang.compiler.run import Run

_SCHEME = "puppet:///modules/"
_SOURCED = ("file", "concat_fragment")


def pinned_content(run: "Run", resources: Sequence[Resource]) -> dict[str, str]:
    """Digests by source; of a directory those of all files below it. A source that is not there is left for the agent to say."""
    pinned: dict[str, str] = {}
    for resource in resources:
        source = resource.value("source") if resource.type_name in _SOURCED else None
        for each in flatten(source) if source is not None else ():
            if isinstance(each, str) and each.startswith(_SCHEME):
                pinned.update(_pins(run, each))
    for name, digest in run.inputs.ask(ModulePlugins(run.settings.module_path)):
        pinned[PLUGIN_SCHEME + name] = digest
    return pinned


def _pins(run: "Run", source: str) -> Iterator[tuple[str, str]]:
    module, _, path = source.removeprefix(_SCHEME).partition("/")
    directory = run.loader.module_directory(module)
    if directory is None:
        return
    yield from _below(run, source.rstrip("/"), f"{directory}/files/{path}".rstrip("/"))


def _below(run: "Run", source: str, path: str) -> Iterator[tuple[str, str]]:
    digest = run.inputs.digest(path)
    if digest is not None:
        yield source, digest
        return
    names = run.inputs.ask(Listing(path))
    if names is not ABSENT:
        for name in names:
            inner = name.rstrip("/")
            yield from _below(run, f"{source}/{inner}", f"{path}/{inner}")
