"""The fact service: what the API, the sessions and the server's workers call about facts.

The work is done by its parts: `uploads` reads what a node sent, `intake` decides and stores, `views` reads what is stored.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from precast.base.errors import PrecastError
from precast.services.facts import issues
from precast.services.facts.intake import FACTS, FactIntake
from precast.services.facts.reads import CatalogReads
from precast.services.facts.uploads import receive_upload, refuse_unreadable
from precast.services.facts.views import FactViews
from precast.services.queue_worker import LostClaim, run_worker
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.facts import Facts, ReceivedFacts
from precast.store.queue.kinds import Claim
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.wire.facts import FactChangeRow, FactsAnswer, FactsView, FactUpload

# A decision takes a fraction of a millisecond; when a server dies, other servers may claim its items after this time.
LEASE_S = 10.0
# Sets of the inbox that share their statements.
BATCH = 64


class FactService:
    """Takes in fact sets and shows them; holds no state between calls."""

    def __init__(self, database: Database, facts: Facts, work: WorkQueue, reads: CatalogReads) -> None:
        self._database = database
        self._facts = facts
        self._work = work
        self._sessions = Sessions(database)
        self._intake = FactIntake(database, facts, work, reads)
        self._views = FactViews(database, facts, reads)

    async def submit(self, node: str, upload: FactUpload) -> FactsAnswer:
        """Store a node's facts, or ask for the stable part if its digest is not known.

        Raises InputError FACTS-001 if the digest is not that of the facts, FACTS-005 or JSON-002 if they are not a mapping, ConflictError
        FACTS-007 for a node that is on hold. Cancelling is safe: the set was stored or it was not.
        """
        promise: asyncio.Future[FactsAnswer | PrecastError] = asyncio.get_running_loop().create_future()
        refuse_unreadable(node, upload)
        self._database.write_item(self._take_requests, (node, self.prepare(node, upload)), promise)
        answer = await promise
        if isinstance(answer, PrecastError):
            raise answer
        return answer

    def prepare(self, node: str, upload: FactUpload) -> ReceivedFacts:
        """An upload as the intake takes it. Raises InputError as `receive_upload` does."""
        return receive_upload(self._facts, node, upload)

    def take(self, uploads: Sequence[tuple[str, ReceivedFacts]]) -> Transaction[Sequence[FactsAnswer | PrecastError]]:
        """Decide upon and store the sets of many nodes as a part of another transaction; an answer or an error for each."""
        return self._intake.take(uploads)

    def _take_requests(
        self, uploads: Sequence[tuple[str, ReceivedFacts]]
    ) -> Transaction[Sequence[FactsAnswer | PrecastError]]:
        """As `take`, for sets that came without a session: a node that is on hold gets an error."""
        held = yield from self._sessions.filter_held([node for node, _ in uploads])
        accepted = [upload for upload in uploads if upload[0] not in held]
        answers = iter((yield from self.take(accepted)) if accepted else ())
        return [issues.HELD_NODE.error(node=node) if node in held else next(answers) for node, _ in uploads]

    async def show(self, node: str) -> FactsView:
        """The stored facts of a node. Raises NotFoundError FACTS-002."""
        return await self._views.show(node)

    async def changes(self, node: str, before: datetime | None = None) -> list[FactChangeRow]:
        """How a node's stable facts changed, newest first."""
        return await self._views.changes(node, before)

    async def work_off(self, owner: str) -> int:
        """Decide upon a batch of sets in the inbox; returns how many sets it was."""
        claims = await self._work.claim(FACTS.name, owner, limit=BATCH, lease_s=LEASE_S)
        try:
            await self._database.write(self._intake.work_off, claims)
        except (LostClaim, PrecastError):
            # One of the sets may be at fault: each gets a transaction of its own.
            for claim in claims:
                await self._work_off_claim(claim)
        return len(claims)

    async def run(self, owner: str) -> None:
        """Work off the inbox until cancelled. Cancelling is safe: another worker claims the items when the lease ends."""
        await run_worker(self._database, lambda: self.work_off(owner), FACTS)

    async def _work_off_claim(self, claim: Claim) -> None:
        try:
            await self._database.write(self._intake.work_off, [claim])
        except LostClaim:
            return
        except PrecastError as error:
            await self._work.fail(claim, f"{error.message} [{error.code}]")
