"""Generates file resources for the entries below a managed directory: those of its source, and those that exist.

Each entry becomes a file resource of its own. An entry that the catalog declares is skipped with everything below it: the nearest resource
decides. An entry that the source does not have only gets owner and mode, or is removed if the directory is purged.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from precast.resources.contract import DesiredResource, ManagedNode
from precast.resources.files import issues, listing, safe_reads, sources
from precast.resources.files.parameters import SOFT_LIMIT, Spec

# Parameters of the directory that its entries do not inherit.
_OWN: Final = frozenset(
    {"path", "name", "ensure", "content", "source", "target", "recurse", "recurselimit", "max_files", "purge", "ignore",
     "sourceselect", "checksum_value"}
)  # fmt: skip


def find_children(
    resource: DesiredResource, spec: Spec, node: ManagedNode, is_directory: bool, log: Callable[[str, str], None]
) -> list[DesiredResource]:
    """The resources below a directory, in order. Raises InputError RESOURCE-115 if there are more than max_files."""
    from_sources = _find_in_sources(spec, node)
    present: list[str] = []
    if spec.recurse == "all" and is_directory:
        parents = safe_reads.node_parents(node)
        found = listing.list_below(parents, spec.path, spec.ignored, spec.limit, spec.is_followed)
        present = [path for path, _ in found]
    everything = {**dict.fromkeys(present), **dict.fromkeys(from_sources)}
    _check_count(spec, len(everything), log)
    inherited = {name: value for name, value in resource.parameters.items() if name not in _OWN}
    declared = {*node.names("file"), *node.names("concat_file")}
    children, declared_prefix = [], None
    for path in sorted(everything, key=lambda entry: entry.split("/")):
        full = f"{spec.path.rstrip('/')}/{path}"
        if declared_prefix is not None and full.startswith(declared_prefix):
            continue
        if full in declared:
            declared_prefix = f"{full}/"
        else:
            absent = {"ensure": "absent"} if spec.is_purged else {}
            own = {"source": from_sources[path]} if path in from_sources else absent
            children.append(_child(resource, full, {**inherited, **own}))
    return children


def _child(resource: DesiredResource, path: str, parameters: Mapping[str, Any]) -> DesiredResource:
    return resource._replace(title=path, parameters=parameters)


def _find_in_sources(spec: Spec, node: ManagedNode) -> dict[str, str]:
    """The source of each relative path; of several sources the first that has the path."""
    by_path: dict[str, str] = {}
    for name in spec.sources:
        source = sources.find_source(node, name, spec.is_followed)
        if source is None:
            continue
        for path in source.below(spec.ignored, spec.limit) if source.kind == "directory" else ():
            by_path.setdefault(path, f"{name.rstrip('/')}/{path}")
        if not spec.selects_all:
            break
    return by_path


def _check_count(spec: Spec, count: int, log: Callable[[str, str], None]) -> None:
    if spec.max_files > 0 and count > spec.max_files:
        raise issues.TOO_MANY_FILES.error(path=spec.path, count=count, limit=spec.max_files)
    if spec.max_files == 0 and count > SOFT_LIMIT:
        log("warning", f"{spec.path} has {count} entries, more than {SOFT_LIMIT}: set max_files to allow them")
