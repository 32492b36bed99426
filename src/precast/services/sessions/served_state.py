"""What each node is served at present: the digest of its released catalog and the serial of its policy.

A connection is notified when either changes. The notification is a hint: the node fetches the catalog and the policy itself.
"""

from datetime import datetime
from typing import NamedTuple

from precast.store.catalogs.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.nodes.policies import Policies


class ServedState(NamedTuple):
    """The digest of a catalog and the serial of a policy; empty and 0 if there is none, or if it is not part of a notification."""

    digest: str = ""
    policy: int = 0


NOTHING_SERVED = ServedState()


class ServedStates:
    """Reads the served state of nodes; holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, policies: Policies) -> None:
        self._database, self._catalogs, self._policies = database, catalogs, policies

    def read(self, node: str) -> Transaction[ServedState]:
        """Read what a node is served."""
        release = yield from self._catalogs.released.find_served(node)
        policy = yield from self._policies.find(node)
        return ServedState("" if release is None else release.digest, 0 if policy is None else policy.serial)

    async def find_changed(self, since: datetime) -> dict[str, ServedState]:
        """Find what changed since a time, by node; an unchanged part is left at its default."""
        return await self._database.read(self._find_changed, since)

    def _find_changed(self, since: datetime) -> Transaction[dict[str, ServedState]]:
        released = yield from self._catalogs.released.list_since(since)
        changed = {node: ServedState(digest) for node, digest in released.items()}
        for node, serial in (yield from self._policies.list_set_since(since)).items():
            changed[node] = changed.get(node, NOTHING_SERVED)._replace(policy=serial)
        return changed
