"""Which environment's approvals a release needs: the one of the catalog, or the one whose catalog it replaces.

Otherwise one person could move a node to an environment that needs no approval, release there, and so replace what others approved.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from precast.store.catalogs.released import Release
from precast.store.catalogs.staged import StagedCatalog
from precast.store.code.environments import Environments
from precast.store.engine.query import Transaction


class ReleaseGuard(NamedTuple):
    """The environment whose people must approve a release, and how many of them."""

    environment: str
    needed: int


def find_guards(
    environments: Environments, staged: Iterable[StagedCatalog], served: Mapping[str, Release]
) -> Transaction[dict[str, ReleaseGuard]]:
    """The guard of the release of each node, absent where it needs no approval; of two environments the one that needs more people."""
    concerned = {
        catalog.node: [
            catalog.environment,
            *([served[catalog.node].environment] if catalog.node in served else []),
        ]
        for catalog in staged
    }
    needed: dict[str, int] = {}
    for name in sorted({name for names in concerned.values() for name in names}):
        environment = yield from environments.find(name)
        needed[name] = environment.release_approvals if environment is not None else 0
    guards = {node: max(names, key=lambda name: needed[name]) for node, names in concerned.items()}
    return {node: ReleaseGuard(name, needed[name]) for node, name in guards.items() if needed[name]}
