"""What nodes have from us at this moment: the catalog that was released to each, and the policy it is under.

A connection is told when either becomes another. That is a hint: the node asks for the things themselves.
"""

from datetime import datetime
from typing import NamedTuple

from precast.store.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.nodes.policies import Policies


class Served(NamedTuple):
    """The digest of a catalog and the serial of a policy; empty and 0 if there is none, or it is not said."""

    digest: str = ""
    policy: int = 0


NOTHING = Served()


class ServedThings:
    """Holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, policies: Policies) -> None:
        self._database, self._catalogs, self._policies = database, catalogs, policies

    def serving(self, node: str) -> Transaction[Served]:
        """What a node has."""
        release = yield from self._catalogs.served(node)
        policy = yield from self._policies.showing(node)
        return Served("" if release is None else release.digest, 0 if policy is None else policy.serial)

    async def changed(self, since: datetime) -> dict[str, Served]:
        """What became another since, by node; what did not is not said."""
        return await self._database.read(self._changing, since)

    def _changing(self, since: datetime) -> Transaction[dict[str, Served]]:
        found = {node: Served(digest) for node, digest in (yield from self._catalogs.released_since(since)).items()}
        for node, serial in (yield from self._policies.set_since(since)).items():
            found[node] = found.get(node, NOTHING)._replace(policy=serial)
        return found
