"""Turns staged catalogs into releases, with their audit entry: the one path of operators, of rollbacks and of an environment's policy.

A node is served the newest of its releases and nothing else. Each release and each rollback is one entry of the log, also if it is stored
in several transactions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from precast.services.exports.decisions import publication_of
from precast.services.exports.publishing import ExportPublisher, Publication
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.release_log import RELEASE, ROLLBACK, CodeVersion, NewLogEntry
from precast.store.catalogs.released import Release, ReleaseStep
from precast.store.catalogs.staged import StagedCatalog
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.exports.rounds import Cause
from precast.store.futures.standing_values import delete_unpromised
from precast.store.identity.audit import AuditLog

# Names of nodes in an audit entry; it always says how many nodes there were.
NAMES_SHOWN = 20
# Versions of the code that the log names for a release.
VERSIONS_LOGGED = 20


class ReleaseCause(NamedTuple):
    """Who releases, and why; the targets of the request, and where a rollback goes to, or the version that a release is limited to; and
    the request with the people who approved it, if it needed approval. `number` continues an entry of the log."""

    actor: str
    why: str
    request: str = ""
    approved_by: tuple[str, ...] = ()
    targets: str = "{}"
    point: str = ""
    number: int | None = None


class StoredRelease(NamedTuple):
    """The nodes of a release, and its number in the log; the number is absent if there are no nodes."""

    nodes: list[str]
    number: int | None


class Releases:
    """Stores releases as part of a transaction; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        catalogs: Catalogs,
        environments: Environments,
        audit: AuditLog,
        exports: ExportPublisher,
    ) -> None:
        self._database, self._catalogs, self._audit = database, catalogs, audit
        self._environments, self._exports = environments, exports

    def release_staged(
        self, staged: Sequence[StagedCatalog], cause: ReleaseCause, collected: Mapping[str, Cause] | None = None
    ) -> Transaction[StoredRelease]:
        """Release staged catalogs, except those of code that gives an error.

        `collected` names the exports of other nodes that led to a catalog, if it is released by itself.
        """
        staged = [catalog for catalog in staged if catalog.digest is not None and catalog.skeleton is not None]
        if not staged:
            return StoredRelease([], cause.number)
        commits = yield from self._find_commits({(catalog.environment, catalog.version) for catalog in staged})
        number = yield from self._log(RELEASE, cause)
        now = self._database.clock.now()
        yield from self._catalogs.released.release(
            [
                Release(
                    catalog.node,
                    0,
                    catalog.digest or "",
                    catalog.skeleton or "",
                    catalog.fill,
                    catalog.environment,
                    catalog.version,
                    now,
                    cause.actor,
                    number,
                    commit=commits[catalog.environment, catalog.version],
                )
                for catalog in staged
            ]
        )
        yield from self._exports.publish([publication_of(catalog) for catalog in staged], causes=collected)
        nodes = [catalog.node for catalog in staged]
        yield from delete_unpromised(nodes)
        versions = [CodeVersion(*code, commit) for code, commit in commits.items()]
        yield from self._record(number, nodes, versions, "catalog.release", cause)
        return StoredRelease(nodes, number)

    def restore(self, steps: Sequence[ReleaseStep], cause: ReleaseCause) -> Transaction[StoredRelease]:
        """Serve earlier releases again. Nodes whose release was trimmed meanwhile are left out."""
        if not steps:
            return StoredRelease([], cause.number)
        number = yield from self._log(ROLLBACK, cause)
        restored = yield from self._catalogs.released.restore(steps, number, self._database.clock.now(), cause.actor)
        steps = [step for step in steps if step.node in restored]
        fills = yield from self._catalogs.released.find_fills(steps)
        yield from self._exports.publish(
            [Publication(step.node, step.environment, step.skeleton, fills[step.node]) for step in steps]
        )
        yield from delete_unpromised([step.node for step in steps])
        versions = {CodeVersion(step.environment, step.version, step.commit) for step in steps}
        yield from self._record(number, [step.node for step in steps], versions, "catalog.rollback", cause)
        return StoredRelease([step.node for step in steps], number)

    def finish(self, number: int | None) -> Transaction[None]:
        """Mark a release or rollback as finished: all of its nodes are done."""
        if number is not None:
            yield from self._catalogs.log.finish(number)

    def _log(self, kind: str, cause: ReleaseCause) -> Transaction[int]:
        if cause.number is not None:
            return cause.number
        entry = NewLogEntry(kind, cause.actor, cause.why, cause.targets, cause.point, cause.request)
        return (yield from self._catalogs.log.add(entry))

    def _find_commits(self, codes: Iterable[tuple[str, str]]) -> Transaction[dict[tuple[str, str], str | None]]:
        commits = {}
        for environment, version in sorted(codes):
            commits[environment, version] = yield from self._environments.find_commit(environment, version)
        return commits

    def _record(
        self, number: int, nodes: Sequence[str], versions: Iterable[CodeVersion], action: str, cause: ReleaseCause
    ) -> Transaction[None]:
        """Count the nodes in the log, and add the audit entry."""
        entry = (yield from self._catalogs.log.find(number)) if cause.number is not None else None
        known = sorted({*versions, *(entry.versions if entry is not None else ())}, key=lambda code: code[:2])
        yield from self._catalogs.log.count(number, len(nodes), known[:VERSIONS_LOGGED])
        target = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
        approval = {"request": cause.request, "approved_by": list(cause.approved_by)} if cause.request else {}
        yield from self._audit.add(
            cause.actor,
            action,
            target,
            why=cause.why,
            release=number,
            nodes=list(nodes[:NAMES_SHOWN]),
            count=len(nodes),
            **approval,
        )
