"""The values that are the same for all compiles of a version, besides its files: facts of the server, and the time of the deploy.

They are the same on all servers of a site: a catalog must not depend on the server that compiled it.
"""

from collections.abc import Mapping
from typing import Any

from precast.base.clock import to_micros
from precast.store.code.environments import Environments
from precast.store.engine.database import Database


class VersionConstants:
    """Reads the constants of versions; holds no state between calls."""

    def __init__(self, database: Database, environments: Environments, server_facts: Mapping[str, Any]) -> None:
        self._database, self._environments = database, environments
        self._server_facts = dict(server_facts)

    async def read(self, environment: str, version: str) -> dict[str, Any]:
        """The answers to `Constant` questions. Of a version that was deployed more than once the first deploy counts."""
        deployed = await self._database.read(self._environments.find_first_deployment, environment, version)
        deploy = {} if deployed is None else {"deployed_at": to_micros(deployed) // 1_000_000}
        return {"server_facts": self._server_facts, **deploy}
