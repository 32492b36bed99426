"""The Ruby files that a node needs for the facts of modules: those of `lib/facter`, and the folders for code that facts share.

Only names decide, so that a walk of traces needs no content. Of a module without facts a node gets the shared code all the same, because
facts of other modules may require it.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from precast.lang.inputs import ABSENT

if TYPE_CHECKING:
    from precast.lang.file_trees import FileStore

# Below `lib`: the facts with their helpers, and what modules share between facts, functions, types and providers.
FOLDERS: Final = ("facter", "puppet_x", "puppet/util")
_MAX_DEPTH: Final = 8
# Each part of a path below `lib` is one of these; a node stores the path with `+` for `/`.
_PART: Final = re.compile(r"[A-Za-z0-9_][\w.-]*")


def ruby_fact_files(files: "FileStore", roots: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """The path of each file by its module and its path below `lib`; none if no module has facts in Ruby."""
    modules = sorted(files.modules(roots).items())
    found = {
        (module, inner): f"{place}/lib/{inner}"
        for module, place in modules
        for folder in FOLDERS
        for inner in _below(files, f"{place}/lib", folder)
    }
    has_facts = any(inner.startswith("facter/") for _, inner in found)
    return found if has_facts else {}


def _below(files: "FileStore", place: str, inner: str) -> Iterator[str]:
    """The Ruby files below a folder of `lib`, by their paths in it."""
    names = files.names(f"{place}/{inner}")
    if names is ABSENT or inner.count("/") >= _MAX_DEPTH:
        return
    for name in names:
        leaf = name.rstrip("/")
        if not _PART.fullmatch(leaf):
            continue
        if name.endswith("/"):
            yield from _below(files, place, f"{inner}/{leaf}")
        elif leaf.endswith(".rb"):
            yield f"{inner}/{leaf}"
