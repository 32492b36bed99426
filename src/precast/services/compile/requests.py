"""An operator requests a decision: the compiler service takes it from its queue like any other, and this module tells how far it is.

This module compiles nothing. A request retries a compile that was given up: the node's walk ends at the same missing branch again, and
requests its compile again. A decision about an entry point wants its catalog too, as a plan would.
"""

from precast.lang.entry_points import check_entry_point
from precast.services.catalogs import issues as catalog_issues
from precast.services.compile.inputs import NodeInputs
from precast.services.issues import NO_SUCH_NODE
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.queue.queue import WorkQueue, find_dead_letter, find_item
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

    async def ask(self, node: str, actor: str, entry: str = "") -> ProgressView:
        """Request another decision on which catalog a node gets, also for an entry point if one is given.

        Raises NotFoundError NODE-001, RELEASE-001 for a node that cannot have a catalog yet, and InputError LANG-767.
        """
        if not is_name(node):
            raise NO_SUCH_NODE.error(node=node[:80])
        if entry:
            check_entry_point(entry)
        return await self._database.write(self._request, node, entry, actor)

    async def progress(self, node: str, entry: str = "") -> ProgressView:
        """How far a requested decision is: that of the main manifest, or of an entry point."""
        if not is_name(node):
            return ProgressView(node, "done")
        return await self._database.read(self._find_progress, node, entry)

    def _request(self, node: str, entry: str, actor: str) -> Transaction[ProgressView]:
        node_inputs = yield from self._inputs.read([node])
        if not node_inputs:
            raise NO_SUCH_NODE.error(node=node)
        if node_inputs[0].version is None:
            reason = f"nothing is deployed to its environment {node_inputs[0].environment}"
            raise catalog_issues.NO_CATALOG.error(node=node, reason=reason)
        if node_inputs[0].facts_digest is None:
            raise catalog_issues.NO_CATALOG.error(node=node, reason="it has sent no facts")
        if entry:
            yield from self._catalogs.entries.want([node], [entry], self._database.clock.now())
        yield from self._work.enqueue_item(DECIDE.name, node, b"")
        yield from self._audit.add(actor, "catalog.compile", node, **({"entry": entry} if entry else {}))
        return ProgressView(node, "queued")

    def _find_progress(self, node: str, entry: str) -> Transaction[ProgressView]:
        for kind, key in ((DECIDE.name, node), (COMPILE.name, (yield from self._traces.find_branch(node, entry)))):
            if key is None:
                continue
            item = yield from find_item(kind, key)
            if item is not None:
                state = "queued" if item.owner is None else "deciding" if kind == DECIDE.name else "compiling"
                return ProgressView(node, state, item.last_error or "", item.attempts)
            dead = yield from find_dead_letter(kind, key)
            if dead is not None:
                return ProgressView(node, "given up", dead.last_error, dead.attempts)
            if kind == COMPILE.name:
                # The compile has ended, and the decision that follows is not queued yet.
                return ProgressView(node, "queued")
        return ProgressView(node, "done")
