"""Releases by themselves, where an environment's policy says so: what was decided without error is served from the same moment on.

Only what this decision has made another catalog is released. So a rollback stays until there is something new, and turning the policy on
releases nothing that somebody has held back. A catalog is stored together with its claim on the content it names, which the database keeps
from being collected: none can be staged, and so none released, whose content is missing.
"""

from collections.abc import Mapping, Sequence

from precast.store.catalogs import Catalogs, Release, Staged
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog

AUTOMATIC = "automatic"
# Names of nodes listed with a deed; how many it is is always said.
NAMES_SHOWN = 20


class AutomaticReleases:
    """Holds no state between calls."""

    def __init__(self, database: Database, environments: Environments, catalogs: Catalogs, audit: AuditLog) -> None:
        self._database, self._environments = database, environments
        self._catalogs, self._audit = catalogs, audit

    def following(self, before: Mapping[str, Staged], staged: Sequence[Staged]) -> Transaction[None]:
        """Release what these decisions have changed, as a part of the transaction that stages it."""
        for name in sorted({one.environment for one in staged}):
            changed = [one for one in staged if one.environment == name and _is_another(before.get(one.node), one)]
            found = (yield from self._environments.showing(name)) if changed else None
            if found is not None and found.policy == AUTOMATIC:
                yield from self._releasing(name, changed)

    def _releasing(self, environment: str, changed: Sequence[Staged]) -> Transaction[None]:
        now, actor = self._database.clock.now(), f"policy:{environment}"
        releases = []
        for one in changed:
            served = yield from self._catalogs.served(one.node)
            if one.digest is not None and one.skeleton is not None and (served is None or served.digest != one.digest):
                releases.append(
                    Release(one.node, 0, one.digest, one.skeleton, one.fill, environment, one.version, now, actor)
                )
        if not releases:
            return
        yield from self._catalogs.releasing(releases)
        nodes = [one.node for one in releases]
        target = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
        why = f"the policy of {environment} is automatic"
        yield from self._audit.adding(
            actor, "catalog.release", target, why=why, nodes=nodes[:NAMES_SHOWN], count=len(nodes)
        )


def _is_another(before: Staged | None, now: Staged) -> bool:
    return now.digest is not None and (before is None or before.digest != now.digest)
