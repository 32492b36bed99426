"""Sorts the staged catalogs of nodes by what a release would do with them: a preview and a release select in the same way."""

from collections.abc import Sequence
from typing import NamedTuple

from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import SERVED_LOOKUP, Release
from precast.store.catalogs.staged import StagedCatalog
from precast.store.engine.query import Transaction


class StagedSelection(NamedTuple):
    """The staged catalogs that a release would serve, what the nodes are served now, and why other nodes are not part of it."""

    fresh: list[StagedCatalog]
    served: dict[str, Release]
    unchanged: list[str]
    left_out: dict[str, str]


def select_staged(catalogs: Catalogs, names: Sequence[str], version: str | None) -> Transaction[StagedSelection]:
    """The staged catalogs of these nodes; with `version` only those of that version."""
    staged = yield from catalogs.staged.find(names)
    served = yield from read_served(names)
    selection = StagedSelection([], served, [], {})
    for name in names:
        staged_catalog = staged.get(name)
        if staged_catalog is None:
            selection.left_out[name] = "nothing is staged"
        elif version is not None and not staged_catalog.version.startswith(version):
            selection.left_out[name] = f"version {staged_catalog.version[:12]} is staged"
        elif staged_catalog.digest is None:
            selection.left_out[name] = "its code gives an error"
        elif name in served and served[name].digest == staged_catalog.digest:
            selection.unchanged.append(name)
        else:
            selection.fresh.append(staged_catalog)
    return selection


def read_served(names: Sequence[str]) -> Transaction[dict[str, Release]]:
    """The release that each of these nodes is served; absent for a node without one."""
    return {release.node: release for release in (yield from SERVED_LOOKUP.find_each(names)) if release is not None}
