"""What is below a managed directory: what its source has, what is there, and what of that is in the way.

Each thing found becomes a file resource of its own. What the catalog declares is left to it, with all that is below: the nearest
resource decides. What the source does not have is only given owner and mode, or removed if the directory is purged.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from precast.resources.contract import Node, Wanted
from precast.resources.files import issues, places, sources
from precast.resources.files.parameters import SOFT_LIMIT, Spec

# What is said of the directory alone, and not of what is in it.
_OWN: Final = frozenset(
    {"path", "name", "ensure", "content", "source", "target", "recurse", "recurselimit", "max_files", "purge", "ignore",
     "sourceselect", "checksum_value"}
)  # fmt: skip


def children(
    wanted: Wanted, spec: Spec, node: Node, is_directory: bool, say: Callable[[str, str], None]
) -> list[Wanted]:
    """The resources below, in order. Raises InputError RESOURCE-115 if there are more than max_files."""
    given = _from_sources(spec, node)
    present: list[str] = []
    if spec.recurse == "all" and is_directory:
        top = places.inside(node.root, spec.path, spec.is_followed)
        present = [path for path, _ in sources.walk(top, spec.ignored, spec.limit, spec.is_followed)]
    everything = {**dict.fromkeys(present), **dict.fromkeys(given)}
    _count(spec, len(everything), say)
    inherited = {name: value for name, value in wanted.parameters.items() if name not in _OWN}
    declared = {*node.names("file"), *node.names("concat_file")}
    found, other = [], None
    for path in sorted(everything, key=lambda each: each.split("/")):
        full = f"{spec.path.rstrip('/')}/{path}"
        if other is not None and full.startswith(other):
            continue
        if full in declared:
            other = f"{full}/"
        else:
            own = {"source": given[path]} if path in given else {"ensure": "absent"} if spec.is_purged else {}
            found.append(_child(wanted, full, {**inherited, **own}))
    return found


def _child(wanted: Wanted, path: str, parameters: Mapping[str, Any]) -> Wanted:
    return wanted._replace(title=path, parameters=parameters)


def _from_sources(spec: Spec, node: Node) -> dict[str, str]:
    """The source of each relative path that a source has; of several the first that has it."""
    found: dict[str, str] = {}
    for name in spec.sources:
        source = sources.look_at(node, name, spec.is_followed)
        if source is None:
            continue
        for path in source.below(spec.ignored, spec.limit) if source.kind == "directory" else ():
            found.setdefault(path, f"{name.rstrip('/')}/{path}")
        if not spec.selects_all:
            break
    return found


def _count(spec: Spec, count: int, say: Callable[[str, str], None]) -> None:
    if spec.max_files > 0 and count > spec.max_files:
        raise issues.TOO_MANY_FILES.error(path=spec.path, count=count, limit=spec.max_files)
    if spec.max_files == 0 and count > SOFT_LIMIT:
        say(
            "warning",
            f"{spec.path} holds {count} entries, more than {SOFT_LIMIT}: set max_files to say how many it may",
        )
