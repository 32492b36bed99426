"""Decides which catalog each node gets: walks the trace tree with the node's inputs, and stages the catalog of the leaf.

A decision about a node is one about its main manifest and about all entry points that are wanted for it.

A node whose walk ends at a missing branch waits there. One compile is requested for the branch, however many nodes wait: a hundred nodes
of one kind wait for one compile. When the tree has grown, each of them is decided upon again; no node is given the result of another.
This module compiles nothing, and no catalog is served before it is released: by an operator, or by the environment's policy.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.services.catalogs.release_policy import ReleasePolicy
from precast.services.catalogs.skeletons import Skeletons
from precast.services.compile.changes import ChangeReasons
from precast.services.compile.inputs import NodeInput, NodeInputs
from precast.services.compile.walks import Branch, CatalogWalks, DecisionOutcome, OtherAnswers, Wanted
from precast.services.exports.decisions import DecisionExports
from precast.services.query.fleet.watching import FleetWatch
from precast.services.queue_worker import LostClaim, run_worker
from precast.services.secrets.sources.requests import FIRST, request_environment
from precast.services.traces.cache import TraceCache
from precast.services.work_kinds import ASK_SECRET, COMPILE, DECIDE, REDECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.staged import CatalogChange
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.views import find_digests
from precast.store.queue.kinds import Claim, ItemRequest
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.source_documents import ListedDocument, SourceDocuments
from precast.store.traces import Traces, remove_waiter

LEASE_S = 30.0
BATCH = 64
# Catalogs that are decided upon in one transaction, unless a single node has more entry points.
MAX_WALKS = 256
# Nodes of an environment whose decisions are requested in one transaction.
PAGE = 500


class PrunedChains(Exception):
    """Chains that the walks used no longer exist; the transaction stored nothing."""

    def __init__(self, environments: set[str]) -> None:
        super().__init__()
        self.environments = environments


class DecisionService:
    """Works off requested decisions; holds only caches."""

    def __init__(
        self,
        database: Database,
        inputs: NodeInputs,
        trace_cache: TraceCache,
        traces: Traces,
        catalogs: Catalogs,
        work: WorkQueue,
        reasons: ChangeReasons,
        policy: ReleasePolicy,
        exports: DecisionExports,
        others: OtherAnswers,
        watch: FleetWatch,
        documents: SourceDocuments,
    ) -> None:
        self._database, self._inputs, self._trace_cache, self._traces = database, inputs, trace_cache, traces
        self._catalogs, self._work, self._reasons, self._policy = catalogs, work, reasons, policy
        self._exports, self._watch, self._documents = exports, watch, documents
        self._walks = CatalogWalks(database.clock, trace_cache, Skeletons(catalogs.documents), others)

    async def run(self, owner: str) -> None:
        """Work off decisions until cancelled. Cancelling is safe: another worker claims the items when the lease ends."""
        await run_worker(self._database, lambda: self._work_off_both(owner), DECIDE, REDECIDE)

    async def _work_off_both(self, owner: str) -> int:
        return await self.work_off(owner) + await self.spread(owner)

    async def work_off(self, owner: str) -> int:
        """Decide upon a batch of nodes; returns how many items it was."""
        claims = await self._work.claim(DECIDE.name, owner, limit=BATCH, lease_s=LEASE_S)
        if not claims:
            return 0
        wanted = await self._database.read(self._catalogs.entries.list_wanted, [claim.key for claim in claims])
        for batch in _split(claims, wanted):
            await self._decide_claimed(batch, wanted)
        return len(claims)

    async def spread(self, owner: str) -> int:
        """Request a decision for all nodes of an environment that has changed; returns how many environments it was."""
        claims = await self._work.claim(REDECIDE.name, owner, limit=1, lease_s=LEASE_S)
        for claim in claims:
            document: ListedDocument | None = FIRST
            while document is not None:
                # New code may be a reason to look whether its secrets have changed too.
                document = await self._database.write(
                    request_environment, self._documents, self._work, claim.key, document
                )
            after: str | None = ""
            while after is not None:
                after = await self._database.write(self._request_page, claim.key, after)
            await self._work.complete(claim)
        return len(claims)

    async def decide(self, node_inputs: Sequence[NodeInput], wanted: Wanted) -> DecisionOutcome:
        """Find the catalogs of these nodes, and of their wanted entry points. Writes nothing."""
        return await self._walks.decide(node_inputs, wanted)

    async def _decide_claimed(self, claims: Sequence[Claim], wanted: Wanted) -> None:
        try:
            node_inputs = await self._database.read(self._inputs.read, [claim.key for claim in claims])
            before = await self._database.read(
                self._catalogs.staged.find, [node_input.node for node_input in node_inputs]
            )
            while True:
                outcome = await self.decide(node_inputs, wanted)
                changes = await self._reasons.find(node_inputs, before, outcome.staged)
                decided = [claim for claim in claims if claim.key not in outcome.failed]
                decided_inputs = [node_input for node_input in node_inputs if node_input.node not in outcome.failed]
                try:
                    await self._database.write_alone(self._store, decided, decided_inputs, outcome, changes)
                except PrunedChains as pruned:
                    # The cache holds chains that were deleted: the next walk loads the tree again as it is stored now.
                    self._trace_cache.forget(pruned.environments)
                else:
                    break
            await self._fail([(claim, outcome.failed[claim.key]) for claim in claims if claim.key in outcome.failed])
        except LostClaim:
            return
        except PrecastError as error:
            await self._fail([(claim, error) for claim in claims])

    async def _fail(self, failures: Iterable[tuple[Claim, PrecastError]]) -> None:
        for claim, error in failures:
            await self._work.fail(claim, f"{error.message} [{error.code}]")

    def _store(
        self,
        claims: Sequence[Claim],
        node_inputs: Sequence[NodeInput],
        outcome: DecisionOutcome,
        changes: Sequence[CatalogChange],
    ) -> Transaction[None]:
        yield from self._lock_chains(outcome)
        yield from self._catalogs.staged.lock_chains([node_input.node for node_input in node_inputs])
        nodes = [node_input.node for node_input in node_inputs]
        outdated = [
            *(yield from self._exports.record(outcome.exports, nodes)),
            *(yield from self._watch.record(outcome.fleet, nodes)),
        ]
        if outcome.staged:
            before = yield from self._catalogs.staged.find([staged.node for staged in outcome.staged])
            yield from self._catalogs.staged.stage(outcome.staged)
            causes = yield from self._exports.follow(outcome.staged, changes)
            yield from self._policy.follow(before, outcome.staged, causes)
        if changes:
            yield from self._catalogs.staged.record_changes(changes)
        if outcome.entries:
            yield from self._catalogs.entries.stage(outcome.entries)
        if outcome.failed_entries:
            yield from self._catalogs.entries.note_trouble(
                (node, entry, f"{error.message} [{error.code}]") for node, entry, error in outcome.failed_entries
            )
        for node_input in node_inputs:
            yield from remove_waiter(node_input.node)
        for waiting in outcome.waiting:
            yield from self._traces.add_waiter(waiting.branch.key, waiting.node, waiting.entry)
        yield from self._request_compiles(waiting.branch for waiting in outcome.waiting)
        # The claimed items first, then the requests for some of them again: in the order of names, as every writer requests them.
        if not (yield from self._work.complete_claims(claims)):
            raise LostClaim
        changed = yield from self._find_changed_secrets(claims, outcome)
        yield from self._request_outdated(node_inputs, {*outdated, *changed})

    def _lock_chains(self, outcome: DecisionOutcome) -> Transaction[None]:
        """Lock the chains that the walks have used. Raises PrunedChains if one of them no longer exists."""
        used = {staged.chain: staged.environment for staged in outcome.staged}
        used |= {staged.chain: staged.environment for staged in outcome.entries}
        branches = [waiting.branch for waiting in outcome.waiting]
        used |= {branch.chain: branch.environment for branch in branches if branch.chain}
        if used and (gone := (yield from self._traces.mark_used(used.keys(), self._database.clock.now()))):
            raise PrunedChains({used[chain] for chain in gone})

    def _find_changed_secrets(self, claims: Sequence[Claim], outcome: DecisionOutcome) -> Transaction[set[str]]:
        """Record what nodes have read from secret sources; returns those whose environment has read something new meanwhile.

        A change that is committed later finds the nodes among the readers.
        """
        reads = outcome.secrets
        nothing: frozenset[str] = frozenset()
        overdue = yield from self._documents.replace_readers(
            {claim.key: reads[claim.key].documents if claim.key in reads else nothing for claim in claims}
        )
        yield from self._work.enqueue_items(ASK_SECRET.name, [ItemRequest(document) for document in overdue])
        revisions = {}
        for environment in sorted({read.environment for read in reads.values()}):
            revisions[environment] = yield from self._documents.lock_revision(environment)
        return {node for node, read in reads.items() if read.revision != revisions[read.environment]}

    def _request_outdated(self, node_inputs: Sequence[NodeInput], others: Collection[str]) -> Transaction[None]:
        """Request another decision for these nodes, and for those whose facts have changed since this one read them.

        The fact intake compared that change with what the node's earlier catalog had read, which may be less than the new one read.
        """
        digests_now = yield from find_digests([node_input.node for node_input in node_inputs])
        outdated = [
            node_input.node
            for node_input in node_inputs
            if node_input.node in others or digests_now.get(node_input.node) != node_input.facts_digest
        ]
        yield from self._work.enqueue_items(DECIDE.name, [ItemRequest(node) for node in outdated])

    def _request_compiles(self, branches: Iterable[Branch]) -> Transaction[None]:
        """Request one compile for each of these branches. The lane is the environment, so environments do not delay each other."""
        for branch in sorted({branch.key: branch for branch in branches}.values(), key=lambda branch: branch.key):
            yield from self._work.enqueue_item(
                COMPILE.name, branch.key, canonical.encode(branch), lane=branch.environment
            )

    def _request_page(self, environment: str, after: str) -> Transaction[str | None]:
        """Request decisions for a page of an environment's nodes; returns the last name, None at the end."""
        nodes = yield from self._inputs.of_environment(environment, after, PAGE)
        yield from self._work.enqueue_items(DECIDE.name, [ItemRequest(node) for node in nodes])
        return nodes[-1] if len(nodes) == PAGE else None


def _split(claims: Sequence[Claim], wanted: Wanted) -> Iterator[list[Claim]]:
    """Batches of claims that have about as many catalogs as one transaction can store in a moment."""
    batch: list[Claim] = []
    walks = 0
    for claim in claims:
        count = 1 + len(wanted.get(claim.key, ()))
        if batch and walks + count > MAX_WALKS:
            yield batch
            batch, walks = [], 0
        batch.append(claim)
        walks += count
    if batch:
        yield batch
