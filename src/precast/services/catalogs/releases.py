"""Turns staged catalogs into releases, with their audit entry: the one path of operators, of rollbacks and of an environment's policy.

A node is served the newest of its releases and nothing else.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import Release
from precast.store.catalogs.staged import StagedCatalog
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog

# Names of nodes in an audit entry; it always says how many nodes there were.
NAMES_SHOWN = 20


class ReleaseCause(NamedTuple):
    """Who releases, and why; and the request with the people who approved it, if it needed approval."""

    actor: str
    why: str
    request: str = ""
    approved_by: tuple[str, ...] = ()


class Releases:
    """Stores releases as part of a transaction; holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, audit: AuditLog) -> None:
        self._database, self._catalogs, self._audit = database, catalogs, audit

    def release_staged(self, staged: Sequence[StagedCatalog], cause: ReleaseCause) -> Transaction[list[str]]:
        """Release staged catalogs, except those of code that gives an error; returns the names of their nodes."""
        now = self._database.clock.now()
        releases = [
            Release(
                catalog.node,
                0,
                catalog.digest,
                catalog.skeleton,
                catalog.fill,
                catalog.environment,
                catalog.version,
                now,
                cause.actor,
            )
            for catalog in staged
            if catalog.digest is not None and catalog.skeleton is not None
        ]
        return (yield from self._store(releases, "catalog.release", cause))

    def release_again(self, earlier: Sequence[Release], cause: ReleaseCause) -> Transaction[list[str]]:
        """Release what nodes were served before; returns the names of the nodes."""
        now = self._database.clock.now()
        releases = [msgspec.structs.replace(release, released_at=now, released_by=cause.actor) for release in earlier]
        return (yield from self._store(releases, "catalog.rollback", cause))

    def _store(self, releases: Sequence[Release], action: str, cause: ReleaseCause) -> Transaction[list[str]]:
        if not releases:
            return []
        yield from self._catalogs.released.release(releases)
        nodes = [release.node for release in releases]
        target = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
        approval = {"request": cause.request, "approved_by": list(cause.approved_by)} if cause.request else {}
        yield from self._audit.add(
            cause.actor, action, target, why=cause.why, nodes=nodes[:NAMES_SHOWN], count=len(nodes), **approval
        )
        return nodes
