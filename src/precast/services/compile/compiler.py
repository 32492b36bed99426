"""The compiler service: takes from its own queue what somebody waits for, has it compiled, and grows the trace tree by it.

A compile is asked for by the place where the tree ends, so it happens once, whoever waits and on whichever server. What the code is
to blame for is a leaf like any catalog. What is the fault of the machine is tried again, and ends as a dead letter. Storing the
documents, growing the tree, sending the waiting off to decide again and completing the item are one transaction.
"""

from typing import NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.base.errors import PrecastError
from precast.base.ids import Ids
from precast.services.compile.deciding import Branch
from precast.services.compile.inputs import NodeInput, NodeInputs, node_data
from precast.services.compile.messages import Compiled
from precast.services.compile.workers import Version, Workers
from precast.services.traces.chains import ABSENT_KEY, ROOT, Leaf, Link, decode_links, encode_links
from precast.services.traces.grafting import part
from precast.services.traces.groves import Groves, chain_of
from precast.services.traces.walking import Found
from precast.services.work_kinds import COMPILE, DECIDE
from precast.services.working import LostClaim, keep_working
from precast.store.catalogs import Catalogs, content_owner
from precast.store.code.blobs import Blobs
from precast.store.engine.compression import pack
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.queue.kinds import Asked, Claim
from precast.store.queue.queue import WorkQueue
from precast.store.traces import ChainRow, Traces

# Beyond the time that the compile itself may take.
LEASE_S = 30.0
# How many of those who wait are sent off in the transaction that grows the tree; the others follow in pages.
PAGE = 500


class _Done(NamedTuple):
    """A finished compile, as it is stored."""

    environment: str
    links: tuple[Link, ...]
    leaf: Leaf
    documents: tuple[tuple[str, bytes], ...]
    content: tuple[str, ...]


class CompilerService:
    """Compiles what is waited for; holds no state between compiles."""

    def __init__(
        self,
        database: Database,
        inputs: NodeInputs,
        groves: Groves,
        workers: Workers,
        traces: Traces,
        catalogs: Catalogs,
        work: WorkQueue,
        blobs: Blobs,
        ids: Ids,
    ) -> None:
        self._database, self._inputs, self._groves = database, inputs, groves
        self._workers, self._blobs = workers, blobs
        self._traces, self._catalogs, self._work, self._ids = traces, catalogs, work, ids
        self.compiles = 0

    async def run(self, owner: str) -> None:
        """Compile what comes, for ever. Cancelling is safe: what was claimed is anyone's when its lease ends."""
        await keep_working(self._database, lambda: self._work_off_or_retire(owner), COMPILE)

    async def _work_off_or_retire(self, owner: str) -> int:
        """When nothing waits it is time to look for workers that nobody needs."""
        count = await self.work_off(owner)
        if not count:
            await self._workers.retire()
        return count

    async def work_off(self, owner: str) -> int:
        """Do one of the compiles that are waited for; how many it was."""
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
        known = await self._representative(branch)
        done = None if known is None else await self._done(known)
        await self._database.write(self._storing, claim, branch, done, self._ids.new())
        await self._send_off_all(branch)

    async def _representative(self, branch: Branch) -> NodeInput | None:
        """Somebody who waits here; None if nobody does any more."""
        waiters = await self._database.read(self._traces.waiters, branch.key, 1)
        found = await self._database.read(self._inputs.reading, waiters) if waiters else []
        return found[0] if found and found[0].version and found[0].facts_digest else None

    async def _done(self, known: NodeInput) -> _Done | None:
        """Compile for a node with what is known of it now; None if the tree has that already."""
        assert known.version is not None, "said by the caller"
        node = node_data(known)
        grove = await self._groves.grove(known.environment, known.version)
        (found,) = await self._groves.walk(grove, [node])
        if isinstance(found, Found):
            return None
        version = Version(known.environment, known.version, grove.files, grove.constants)
        compiled = await self._workers.compile(version, node)
        self.compiles += 1
        return _done(known.environment, compiled)

    async def _send_off_all(self, branch: Branch) -> None:
        while await self._database.write(self._sending_off, branch):
            pass

    def _storing(self, claim: Claim, branch: Branch, done: _Done | None, chain: str) -> Transaction[None]:
        if done is not None:
            yield from self._catalogs.storing(done.documents)
            if done.leaf.catalog is not None:
                yield from self._blobs.referring(content_owner(done.leaf.catalog), done.content)
            yield from self._grafting(done, chain)
        yield from self._sending_off(branch)
        if not (yield from self._work.completing(claim)):
            raise LostClaim

    def _grafting(self, done: _Done, chain: str) -> Transaction[None]:
        place, at = ROOT, 0
        while True:
            row = yield from self._traces.finding(done.environment, *place)
            if row is not None:
                found, at = part(done.links, at, chain_of(row))
                if found is None:
                    return
                place = found
                continue
            if place.chain and not (yield from self._traces.holding(place.chain, self._database.clock.now())):
                # It was pruned since we came by: what hangs nowhere would never be found.
                place, at = ROOT, 0
                continue
            rest = pack(encode_links(done.links[at:]))
            leaf = done.leaf
            row = ChainRow(chain, rest, canonical.encode(leaf).decode(), leaf.catalog, leaf.source_map)
            value = canonical.encode(done.links[at - 1].answer).decode() if place.key not in ("", ABSENT_KEY) else None
            if (yield from self._traces.adding(done.environment, *place, row, value)):
                return

    def _sending_off(self, branch: Branch) -> Transaction[bool]:
        """Some of those who waited decide again; whether there may be more."""
        nodes = yield from self._traces.taking_waiters(branch.key, PAGE)
        yield from self._work.enqueuing_many(DECIDE.name, [Asked(node) for node in nodes])
        return len(nodes) == PAGE


def _done(environment: str, compiled: Compiled) -> _Done:
    links = decode_links(compiled.links)
    if compiled.error is not None:
        leaf = Leaf(error=compiled.error, code=compiled.code, logs=compiled.logs)
        return _Done(environment, links, leaf, (), ())
    catalog, places = digests.of_bytes(compiled.body), digests.of_bytes(compiled.source_map)
    leaf = Leaf(catalog=catalog, source_map=places, logs=compiled.logs)
    documents = ((catalog, compiled.body), (places, compiled.source_map))
    return _Done(environment, links, leaf, documents, compiled.content)
