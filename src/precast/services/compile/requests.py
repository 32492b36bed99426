"""A person asks for a decision: the compiler service takes it from its queue like any other, and here is said how far it is.

Nothing is compiled here, nor where this runs. A compile that was given up is tried again by it: the node comes to the place where
it waits, and asks anew.
"""

from precast.services import issues
from precast.services.compile.inputs import NodeInputs
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.queue.queue import WorkQueue, finding, finding_dead
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import ProgressView
from precast.wire.identity.names import is_name


class CompileRequests:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        catalogs: Catalogs,
        traces: Traces,
        inputs: NodeInputs,
        work: WorkQueue,
        audit: AuditLog,
    ) -> None:
        self._database, self._catalogs, self._traces = database, catalogs, traces
        self._inputs, self._work, self._audit = inputs, work, audit

    async def ask(self, node: str, actor: str) -> ProgressView:
        """Have it decided anew which catalog a node gets.

        Raises NotFoundError NODE-001, and RELEASE-001 for a node that cannot have one yet.
        """
        if not is_name(node):
            raise issues.NO_SUCH_NODE.error(node=node[:80])
        return await self._database.write(self._asking, node, actor)

    async def progress(self, node: str) -> ProgressView:
        """How far what was asked for is."""
        return await self._database.read(self._looking, node) if is_name(node) else ProgressView(node, "done")

    def _asking(self, node: str, actor: str) -> Transaction[ProgressView]:
        known = yield from self._inputs.reading([node])
        if not known:
            raise issues.NO_SUCH_NODE.error(node=node)
        if known[0].version is None:
            reason = f"nothing is deployed to its environment {known[0].environment}"
            raise issues.NO_CATALOG.error(node=node, reason=reason)
        if known[0].facts_digest is None:
            raise issues.NO_CATALOG.error(node=node, reason="it has sent no facts")
        yield from self._work.enqueuing(DECIDE.name, node, b"")
        yield from self._audit.adding(actor, "catalog.compile", node)
        return ProgressView(node, "queued")

    def _looking(self, node: str) -> Transaction[ProgressView]:
        for kind, key in ((DECIDE.name, node), (COMPILE.name, (yield from self._traces.branch_of(node)))):
            if key is None:
                continue
            item = yield from finding(kind, key)
            if item is not None:
                state = "queued" if item.owner is None else "deciding" if kind == DECIDE.name else "compiling"
                return ProgressView(node, state, item.last_error or "", item.attempts)
            dead = yield from finding_dead(kind, key)
            if dead is not None:
                return ProgressView(node, "given up", dead.last_error, dead.attempts)
            if kind == COMPILE.name:
                # Between the end of its compile and the decision that follows.
                return ProgressView(node, "queued")
        return ProgressView(node, "done")
