"""The compiler service: takes requested compiles from its queue, has workers compile them, and adds the traces to the trace tree.

A compile is requested by the branch that is missing, so it happens once, however many nodes wait and on whichever server. An error of the
code is a leaf like any catalog. A fault of the machine is retried, and ends as a dead letter. Storing the documents, growing the tree,
requesting the decisions of the waiting nodes and completing the item are one transaction.

The secrets of a catalog are replaced by references before its digest is taken; their sealed values are stored with it.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.base.errors import InputError, PrecastError
from precast.base.ids import Ids
from precast.catalog import body as bodies
from precast.catalog.exports import ExportedResource, exports_of
from precast.catalog.futures import list_needs, list_promises
from precast.services.compile.inputs import NodeInput, NodeInputs, node_data
from precast.services.compile.messages import Compiled
from precast.services.compile.walks import Branch, OtherAnswers
from precast.services.compile.workers import Version, Workers
from precast.services.queue_worker import LostClaim, run_worker
from precast.services.secrets.values import HiddenCatalog, SecretValues
from precast.services.traces.cache import FailedWalk, TraceCache
from precast.services.traces.chains import ABSENT_KEY, ROOT, Leaf, Link, decode_links, encode_links
from precast.services.traces.divergence import follow_chain
from precast.services.traces.paths import decode_chain
from precast.services.traces.walker import ReachedLeaf
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.documents import content_owner
from precast.store.code.blobs import Blobs
from precast.store.engine.compression import compress
from precast.store.engine.database import Database
from precast.store.engine.query import Notice, Transaction
from precast.store.exports.resources import add_catalog as add_exports
from precast.store.futures.catalog_futures import add_catalog_futures
from precast.store.queue.kinds import Claim, ItemRequest
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.secrets import SealedSecret, Secrets
from precast.store.traces import ChainRow, Traces

# Added to the time limit of the compile itself.
LEASE_S = 30.0
# How many waiting nodes are requested in the transaction that grows the tree; the others follow in pages.
PAGE = 500
MAX_REPORTED = 1000
# A body with exported resources contains these bytes.
_EXPORTED = b'"exported":true'
# And one with futures one of these.
_FUTURES = (b'"Promise"', b'"Precast::Future')


class _FinishedCompile(NamedTuple):
    """A finished compile, as it is stored."""

    environment: str
    version: str
    links: tuple[Link, ...]
    leaf: Leaf
    documents: tuple[tuple[str, bytes], ...]
    content: tuple[str, ...]
    exports: tuple[ExportedResource, ...] = ()
    secrets: tuple[SealedSecret, ...] = ()
    promises: Mapping[str, str] = {}  # keys with their scopes
    needs: Collection[str] = ()


class CompilerService:
    """Works off requested compiles; holds no state between compiles."""

    def __init__(
        self,
        database: Database,
        inputs: NodeInputs,
        trace_cache: TraceCache,
        workers: Workers,
        traces: Traces,
        catalogs: Catalogs,
        work: WorkQueue,
        blobs: Blobs,
        secrets: Secrets,
        secret_values: SecretValues,
        ids: Ids,
        others: OtherAnswers,
    ) -> None:
        self._database, self._inputs, self._trace_cache = database, inputs, trace_cache
        self._workers, self._blobs, self._others = workers, blobs, others
        self._traces, self._catalogs, self._work, self._ids = traces, catalogs, work, ids
        self._secrets, self._secret_values = secrets, secret_values
        self.compiles = 0
        # Errors that this process has logged: environment, version, and the first line.
        self._reported: set[tuple[str, str, str]] = set()

    async def run(self, owner: str) -> None:
        """Work off compiles until cancelled. Cancelling is safe: another worker claims the item when the lease ends."""
        await run_worker(self._database, lambda: self._work_off_or_retire(owner), COMPILE)

    async def _work_off_or_retire(self, owner: str) -> int:
        """Work off a compile; if there is none, end the workers that have been idle."""
        count = await self.work_off(owner)
        if not count:
            await self._workers.retire()
        return count

    async def work_off(self, owner: str) -> int:
        """Do one of the requested compiles; returns how many it was."""
        claims = await self._work.claim(COMPILE.name, owner, limit=1, lease_s=self._workers.limit_s + LEASE_S)
        for claim in claims:
            try:
                await self._compile(claim)
            except LostClaim:
                continue
            except PrecastError as error:
                await self._work.fail(claim, f"{error.message} [{error.code}]")
        return len(claims)

    async def _compile(self, claim: Claim) -> None:
        branch = msgspec.json.decode(claim.payload, type=Branch)
        picked = await self._pick_waiter(branch)
        finished = None if picked is None else await self._compile_node(*picked)
        await self._database.write(self._store, claim, branch, finished, self._ids.new())
        await self._request_all_decisions(branch)

    async def _pick_waiter(self, branch: Branch) -> tuple[NodeInput, str] | None:
        """One of the nodes that wait for this branch, with its entry point; None if none does any more."""
        for waiter in await self._database.read(self._traces.list_waiters, branch.key, 1):
            for node_input in await self._database.read(self._inputs.read, [waiter.node]):
                if node_input.version and node_input.facts_digest:
                    return node_input, waiter.entry
        return None

    async def _compile_node(self, node_input: NodeInput, entry: str) -> _FinishedCompile | None:
        """Compile an entry point for a node with its present inputs; None if the tree has a leaf for it by now."""
        assert node_input.version is not None, "the caller checks it"
        node = msgspec.structs.replace(node_data(node_input), entry=entry)
        tree = await self._trace_cache.tree(node_input.environment, node_input.version)
        others = self._others.begin(node_input.environment)
        (walk,) = await self._trace_cache.walk(tree, [node], others)
        if isinstance(walk, ReachedLeaf):
            return None
        if isinstance(walk, FailedWalk):
            raise walk.error
        version = Version(node_input.environment, node_input.version, tree.files, tree.constants, tree.answer_key)
        compiled = await self._workers.compile(version, node)
        self.compiles += 1
        if compiled.error is not None:
            return _finish_failed(node_input.environment, node_input.version, compiled)
        try:
            hidden = await self._secret_values.hide(node_input.environment, compiled.body)
        except InputError as error:
            failed = msgspec.structs.replace(compiled, error=error.render(), code=error.code)
            return _finish_failed(node_input.environment, node_input.version, failed)
        return _finish(node_input.environment, node_input.version, compiled, hidden)

    async def _request_all_decisions(self, branch: Branch) -> None:
        while await self._database.write(self._request_decisions, branch):
            pass

    def _store(self, claim: Claim, branch: Branch, finished: _FinishedCompile | None, chain: str) -> Transaction[None]:
        if finished is not None:
            yield from self._catalogs.documents.store(finished.documents)
            if finished.leaf.catalog is not None:
                yield from self._blobs.add_references(content_owner(finished.leaf.catalog), finished.content)
                yield from add_exports(finished.leaf.catalog, finished.exports)
                yield from self._secrets.store(finished.environment, finished.leaf.catalog, finished.secrets)
                yield from add_catalog_futures(finished.leaf.catalog, finished.promises, finished.needs)
            yield from self._add_to_tree(finished, chain)
            yield from self._report_error(finished, branch)
        yield from self._request_decisions(branch)
        if not (yield from self._work.complete_claim(claim)):
            raise LostClaim

    def _report_error(self, finished: _FinishedCompile, branch: Branch) -> Transaction[None]:
        """Log an error of the code, once for each version of the environment."""
        if finished.leaf.error is None:
            return
        first = finished.leaf.error.strip().partition("\n")[0]
        if (error := (finished.environment, finished.version, first)) in self._reported:
            return
        if len(self._reported) >= MAX_REPORTED:
            self._reported.clear()
        self._reported.add(error)
        count = yield from self._traces.count_waiters(branch.key)
        yield Notice("compile error", f"{finished.environment} does not compile, for {count} nodes so far: {first}")

    def _add_to_tree(self, finished: _FinishedCompile, chain: str) -> Transaction[None]:
        """Follow the stored chains with the trace to where it diverges, and attach the rest there as a chain of its own."""
        links, leaf = finished.links, finished.leaf
        branch_point, at = ROOT, 0
        while True:
            row = yield from self._traces.find(finished.environment, *branch_point)
            if row is not None:
                divergence, at = follow_chain(links, at, decode_chain(row))
                if divergence is None:
                    return
                branch_point = divergence
                continue
            if branch_point.chain and not (
                yield from self._traces.lock(branch_point.chain, self._database.clock.now())
            ):
                # The parent was pruned after it was read: a chain attached to it would never be found.
                branch_point, at = ROOT, 0
                continue
            rest = compress(encode_links(links[at:]))
            row = ChainRow(chain, rest, canonical.encode(leaf).decode(), leaf.catalog, leaf.source_map)
            has_value = branch_point.key not in ("", ABSENT_KEY)
            value = canonical.encode(links[at - 1].answer).decode() if has_value else None
            if (yield from self._traces.add(finished.environment, *branch_point, row, value)):
                return

    def _request_decisions(self, branch: Branch) -> Transaction[bool]:
        """Request the decisions of a page of the nodes that wait for a branch; returns whether there may be more."""
        nodes = yield from self._traces.remove_waiters(branch.key, PAGE)
        yield from self._work.enqueue_items(DECIDE.name, [ItemRequest(node) for node in nodes])
        return len(nodes) == PAGE


def _finish(environment: str, version: str, compiled: Compiled, hidden: HiddenCatalog) -> _FinishedCompile:
    catalog, source_map = digests.of_bytes(hidden.body), digests.of_bytes(compiled.source_map)
    leaf = Leaf(catalog=catalog, source_map=source_map, logs=compiled.logs, problems=compiled.problems)
    documents = ((catalog, hidden.body), (source_map, compiled.source_map))
    exports = exports_of("", bodies.decode(hidden.body)) if _EXPORTED in hidden.body else ()
    promises: dict[str, str] = {}
    needs: set[str] = set()
    if any(mark in hidden.body for mark in _FUTURES):
        body = bodies.decode(hidden.body)
        promises = {promise.key: promise.scope for promise in list_promises(body)}
        needs = {need.need.key for need in list_needs(body)}
    return _FinishedCompile(
        environment,
        version,
        decode_links(compiled.links),
        leaf,
        documents,
        compiled.content,
        tuple(exports),
        hidden.secrets,
        promises,
        needs,
    )


def _finish_failed(environment: str, version: str, compiled: Compiled) -> _FinishedCompile:
    leaf = Leaf(error=compiled.error, code=compiled.code, logs=compiled.logs, problems=compiled.problems)
    return _FinishedCompile(environment, version, decode_links(compiled.links), leaf, (), ())
