"""What people see and do about the sources of secrets: their state, asking them again, and whether a fact may choose a secret."""

from collections.abc import Sequence

from precast.services.code.environments import require_environment
from precast.services.secrets.sources import issues
from precast.services.secrets.sources.configuration import Sources, SourceSettings
from precast.services.secrets.sources.requests import FIRST, request_source
from precast.services.work_kinds import REDECIDE
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.queue.kinds import ItemRequest
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.source_documents import BY_FACTS, ListedDocument, SourceDocuments, SourceSummary
from precast.wire.secrets.sources import RefreshAnswer, SecretPolicyView, SecretSourceRow, SourceEnvironment

PAGE = 500


class SecretSourceService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        store: SourceDocuments,
        configured: Sources,
        environments: Environments,
        work: WorkQueue,
        audit: AuditLog,
    ) -> None:
        self._database, self._store, self._configured = database, store, configured
        self._environments, self._work, self._audit = environments, work, audit

    async def list_sources(self) -> list[SecretSourceRow]:
        """The sources of this server's configuration, by name, with the state of each environment's documents."""
        summaries = await self._database.read(self._store.summarise)
        known = {(summary.source, summary.environment): summary for summary in summaries}
        return [
            SecretSourceRow(
                name,
                source.kind,
                source.directory or f"{source.url} {source.mount}",
                source.ttl_s,
                [
                    _environment(environment, source, known.get((name, environment)))
                    for environment in sorted(source.environments)
                ],
            )
            for name, source in sorted(self._configured.items())
        ]

    async def refresh(self, source: str, actor: str) -> RefreshAnswer:
        """Ask a source again for all documents that nodes read; or all sources, and decide upon all nodes.

        Raises NotFoundError SECRET-024.
        """
        if source and source not in self._configured:
            raise issues.NO_SOURCE.error(source=source[:80])
        if not source:
            return await self._database.write(self._refresh_all, await self._list_environments(), actor)
        count, last = await self._database.write(self._refresh_source, source, actor)
        while last is not None:
            requested, last = await self._database.write(request_source, self._store, self._work, source, last)
            count += requested
        return RefreshAnswer(count, [])

    def _refresh_source(self, source: str, actor: str) -> Transaction[tuple[int, ListedDocument | None]]:
        yield from self._audit.add(actor, "secret.refresh", source)
        return (yield from request_source(self._store, self._work, source, FIRST))

    def _refresh_all(self, environments: Sequence[str], actor: str) -> Transaction[RefreshAnswer]:
        """Every environment is decided upon again, which asks for its documents; keys of hiera-eyaml may have changed too."""
        yield from self._audit.add(actor, "secret.refresh", "all sources")
        yield from self._work.enqueue_items(REDECIDE.name, [ItemRequest(name) for name in environments])
        summaries = yield from self._store.summarise()
        return RefreshAnswer(sum(summary.documents for summary in summaries), list(environments))

    async def _list_environments(self) -> tuple[str, ...]:
        names: list[str] = []
        while page := await self._environments.list(names[-1] if names else "", PAGE):
            names += [environment.name for environment in page]
        return tuple(names)

    async def show_policy(self, environment: str) -> SecretPolicyView:
        """Raises NotFoundError ENV-005."""
        return SecretPolicyView(environment, await self._database.read(self._find_policy, environment))

    async def set_policy(self, environment: str, by_facts: str, actor: str) -> SecretPolicyView:
        """Set whether a fact may choose a secret, and decide upon the nodes of the environment again.

        Raises InputError SECRET-026, NotFoundError ENV-005.
        """
        if by_facts not in BY_FACTS:
            raise issues.BAD_POLICY.error(policy=repr(by_facts[:80]))
        await self._database.write(self._set_policy, environment, by_facts, actor)
        return SecretPolicyView(environment, by_facts)

    def _find_policy(self, environment: str) -> Transaction[str]:
        yield from require_environment(self._environments, environment)
        return (yield from self._store.find_policy(environment)).by_facts

    def _set_policy(self, environment: str, by_facts: str, actor: str) -> Transaction[None]:
        before = yield from self._find_policy(environment)
        if before == by_facts:
            return
        yield from self._store.set_policy(environment, by_facts)
        yield from self._work.enqueue_item(REDECIDE.name, environment, b"")
        yield from self._audit.add(actor, "secret.policy", environment, before=before, after=by_facts)


def _environment(name: str, source: SourceSettings, summary: SourceSummary | None) -> SourceEnvironment:
    paths = source.environments[name]
    if summary is None:
        return SourceEnvironment(name, paths)
    counts = summary.documents, summary.known, summary.failed
    times = summary.read_at, summary.tried_at, summary.due_at
    return SourceEnvironment(name, paths, *counts, *times, summary.problem or "")
