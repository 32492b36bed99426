"""Decides which catalog each node gets: walks the trace tree with what is known of it, and stages what it finds.

A node whose walk ends where the tree ends waits there. One compile is asked for by place, whoever waits: a hundred like nodes wait
for one compile. When the tree has grown, they all decide again for themselves; nobody is given another's result. Nothing here
compiles, and nothing is served before it is released: by a person, or by the environment's policy.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.base.errors import PrecastError
from precast.catalog.skeleton import values_of
from precast.lang.answers import NodeData, follow
from precast.lang.inputs import ABSENT
from precast.services.catalogs.automatic_releases import AutomaticReleases
from precast.services.catalogs.skeletons import Skeletons
from precast.services.compile.changes import ChangeReasons
from precast.services.compile.inputs import NodeInput, NodeInputs, node_data
from precast.services.traces.chains import Place
from precast.services.traces.groves import Groves
from precast.services.traces.walking import Found, Missing
from precast.services.work_kinds import COMPILE, DECIDE, REDECIDE
from precast.services.working import LostClaim, keep_working
from precast.store.catalogs import Catalogs, Change, Staged
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.views import reading_digests
from precast.store.queue.kinds import Asked, Claim
from precast.store.queue.queue import WorkQueue
from precast.store.traces import Traces, resting

LEASE_S = 30.0
BATCH = 64
# Nodes of an environment that are asked to decide anew in one transaction.
PAGE = 500


class Branch(msgspec.Struct, frozen=True):
    """Where a tree ends: what a compile is asked for."""

    environment: str
    chain: str
    position: int
    answer: str

    @property
    def key(self) -> str:
        return digests.of_value(self)

    @property
    def place(self) -> Place:
        return Place(self.chain, self.position, self.answer)


class Outcome(NamedTuple):
    """What a decision came to: staged, waiting at a branch, or nothing because the node has no code or is no more."""

    staged: tuple[Staged, ...]
    waiting: tuple[tuple[str, Branch], ...]
    idle: tuple[str, ...]


class Pruned(Exception):
    """Chains that were walked in memory are no more; nothing of ours is stored."""

    def __init__(self, environments: set[str]) -> None:
        super().__init__()
        self.environments = environments


class DecisionService:
    """Works off what has to be decided; holds only caches."""

    def __init__(
        self,
        database: Database,
        inputs: NodeInputs,
        groves: Groves,
        traces: Traces,
        catalogs: Catalogs,
        work: WorkQueue,
        reasons: ChangeReasons,
        automatic: AutomaticReleases,
    ) -> None:
        self._database, self._inputs, self._groves, self._traces = database, inputs, groves, traces
        self._catalogs, self._work, self._reasons, self._automatic = catalogs, work, reasons, automatic
        self._skeletons = Skeletons(catalogs)

    async def run(self, owner: str) -> None:
        """Decide what comes, for ever. Cancelling is safe: what was claimed is anyone's when its lease ends."""
        await keep_working(self._database, lambda: self._work_off_both(owner), DECIDE, REDECIDE)

    async def _work_off_both(self, owner: str) -> int:
        return await self.work_off(owner) + await self.spread(owner)

    async def work_off(self, owner: str) -> int:
        """Decide for some of those that wait; how many it was."""
        claims = await self._work.claim(DECIDE.name, owner, limit=BATCH, lease_s=LEASE_S)
        if claims:
            await self._decide_claimed(claims)
        return len(claims)

    async def spread(self, owner: str) -> int:
        """Ask all nodes of an environment that has changed to decide anew; how many environments it was."""
        claims = await self._work.claim(REDECIDE.name, owner, limit=1, lease_s=LEASE_S)
        for claim in claims:
            after: str | None = ""
            while after is not None:
                after = await self._database.write(self._spreading, claim.key, after)
            await self._work.complete(claim)
        return len(claims)

    async def decide(self, known: Sequence[NodeInput]) -> Outcome:
        """Walk these nodes through the trees of their versions. Writes nothing."""
        groups: dict[tuple[str, str], list[NodeInput]] = {}
        idle = []
        for one in known:
            if one.version is None or one.facts_digest is None:
                idle.append(one.node)
            else:
                groups.setdefault((one.environment, one.version), []).append(one)
        staged: list[Staged] = []
        waiting: list[tuple[str, Branch]] = []
        for (environment, version), members in sorted(groups.items()):
            grove = await self._groves.grove(environment, version)
            data = [node_data(one) for one in members]
            for one, node, found in zip(members, data, await self._groves.walk(grove, data), strict=True):
                if isinstance(found, Missing):
                    waiting.append((one.node, Branch(environment, *found.place)))
                else:
                    staged.append(await self._staged(one, node, found))
        return Outcome(tuple(staged), tuple(waiting), tuple(idle))

    async def _decide_claimed(self, claims: Sequence[Claim]) -> None:
        try:
            known = await self._database.read(self._inputs.reading, [claim.key for claim in claims])
            before = await self._database.read(self._catalogs.staged, [one.node for one in known])
            while True:
                outcome = await self.decide(known)
                changes = await self._reasons.find(known, before, outcome.staged)
                try:
                    await self._database.write_apart(self._persisting, claims, known, outcome, changes)
                except Pruned as pruned:
                    # What is in memory is no more: it is read anew, and then it is there or ends where the tree does.
                    self._groves.forget(pruned.environments)
                else:
                    return
        except LostClaim:
            return
        except PrecastError as error:
            for claim in claims:
                await self._work.fail(claim, f"{error.message} [{error.code}]")

    async def _staged(self, known: NodeInput, node: NodeData, found: Found) -> Staged:
        assert known.version is not None, "only those are walked"
        assert known.facts_digest is not None, "only those are walked"
        now = self._database.clock.now()
        chain = found.way[-1][0]
        digest, fill = None, "[]"
        if found.leaf.catalog is not None:
            skeleton = await self._skeletons.read(found.leaf.catalog)
            values = values_of(skeleton.holes, lambda root, path: _value(node, root, path))
            digest = skeleton.digest if not values else digests.of_bytes(skeleton.filled(values))
            fill = canonical.encode([[list(hole), value] for hole, value in values.items()]).decode()
        return Staged(
            known.node,
            known.environment,
            known.version,
            known.facts_digest,
            chain,
            found.leaf.catalog,
            digest,
            fill,
            now,
            now,
        )

    def _persisting(
        self, claims: Sequence[Claim], known: Sequence[NodeInput], outcome: Outcome, changes: Sequence[Change]
    ) -> Transaction[None]:
        yield from self._using(outcome)
        yield from self._catalogs.holding([one.node for one in known])
        if outcome.staged:
            before = yield from self._catalogs.staged([one.node for one in outcome.staged])
            yield from self._catalogs.staging(outcome.staged)
            yield from self._automatic.following(before, outcome.staged)
        if changes:
            yield from self._catalogs.changing(changes)
        for staged in outcome.staged:
            yield from resting(staged.node)
        for node in outcome.idle:
            yield from resting(node)
        for node, branch in outcome.waiting:
            yield from self._traces.waiting(branch.key, node)
        yield from self._asking(branch for _, branch in outcome.waiting)
        # First all that we have, then what is asked for again of it: in the order of names, like everybody who asks.
        if not (yield from self._work.completing_many(claims)):
            raise LostClaim
        yield from self._asking_again(known)

    def _using(self, outcome: Outcome) -> Transaction[None]:
        """Hold the chains that the walks have used. Raises Pruned if one of them is no more."""
        used = {staged.chain: staged.environment for staged in outcome.staged}
        used |= {branch.chain: branch.environment for _, branch in outcome.waiting if branch.chain}
        if used and (gone := (yield from self._traces.using(used.keys(), self._database.clock.now()))):
            raise Pruned({used[chain] for chain in gone})

    def _asking_again(self, known: Sequence[NodeInput]) -> Transaction[None]:
        """Who has other facts by now decides again: whoever stored those judged them by an older trace."""
        digests_now = yield from reading_digests([one.node for one in known])
        others = [one.node for one in known if digests_now.get(one.node) != one.facts_digest]
        yield from self._work.enqueuing_many(DECIDE.name, [Asked(node) for node in others])

    def _asking(self, branches: Iterable[Branch]) -> Transaction[None]:
        """Ask for a compile at each of these places, once. Its lane is the environment: one does not delay another."""
        for branch in sorted({branch.key: branch for branch in branches}.values(), key=lambda one: one.key):
            yield from self._work.enqueuing(COMPILE.name, branch.key, canonical.encode(branch), lane=branch.environment)

    def _spreading(self, environment: str, after: str) -> Transaction[str | None]:
        nodes = yield from self._inputs.of_environment(environment, after, PAGE)
        yield from self._work.enqueuing_many(DECIDE.name, [Asked(node) for node in nodes])
        return nodes[-1] if len(nodes) == PAGE else None


def _value(node: NodeData, root: str, path: tuple[str | int, ...]) -> object:
    found = follow(node.facts if root == "facts" else node.trusted, path)
    return None if found is ABSENT else found
