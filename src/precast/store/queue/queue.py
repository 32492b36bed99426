"""The work queue: what has to be done, once per (kind, key), by whoever claims it.

Asking twice for the same thing is asking once, for the newest payload. A claim is a lease with a fence: when the lease runs out
the item is anyone's, and the old holder's completion is refused. What fails is tried again with growing pauses and ends as a dead
letter that people can look at and requeue. The order is fair: the turns of one lane are spaced out, so a lane that asks for ten
thousand things does not delay another's single one, which comes right after what is being worked on; and since that place moves
on with every turn, no item is overtaken for ever.

Every public method is one transaction. The methods that end in `ing` are the same as units, for a transaction of another aggregate.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from precast.base.clock import from_micros, to_micros
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake, json_list
from precast.store.queue import queries as work_queries
from precast.store.queue.kinds import (
    LANE_STEPS,
    MAX_ERROR_CHARS,
    MAX_PAYLOAD_BYTES,
    Asked,
    Claim,
    Counts,
    DeadLetter,
    Failure,
    WaitingItem,
    WorkKind,
)

RECOUNT_S = 1.0


class WorkQueue:
    """The queue in one database, for the kinds declared here.

    The bound on a kind is exact among the writers of one process; what other servers add is counted once a second.
    """

    def __init__(self, database: Database, kinds: Iterable[WorkKind]) -> None:
        self._database = database
        self._kinds = {kind.name: kind for kind in kinds}
        self.kinds = tuple(self._kinds)
        # Touched only inside write units, of which one runs at a time.
        self._room: dict[str, tuple[int, float]] = {}

    # Asking for work

    async def enqueue(
        self, kind: str, key: str, payload: bytes, *, lane: str = "", due_at: datetime | None = None
    ) -> bool:
        """Ask for an item; whether it is new (otherwise it was waiting or being worked on, and now has this payload).

        Raises UnavailableError WORK-002 if the kind is full, InputError WORK-003 if the payload is too large.
        """
        return await self._database.write(self.enqueuing, kind, key, payload, lane=lane, due_at=due_at)

    def enqueuing(
        self, kind: str, key: str, payload: bytes, *, lane: str = "", due_at: datetime | None = None
    ) -> Transaction[bool]:
        settings = self._kind(kind)
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise issues.PAYLOAD_TOO_LARGE.error(kind=kind, key=key, size=len(payload), limit=MAX_PAYLOAD_BYTES)
        now = self._now_micros()
        yield from self._ensure_room(settings, key)
        ((generation,),) = yield work_queries.ENQUEUE(
            kind=kind,
            key=key,
            lane=lane,
            payload=payload,
            now=now,
            due_at=now if due_at is None else to_micros(due_at),
            steps=LANE_STEPS,
        )
        if generation == 1:
            self._change_room(kind, -1)
        yield Wake(topic(kind))
        return bool(generation == 1)

    def dropping(self, kind: str, key: str) -> Transaction[None]:
        """Take an item back, dead or alive. A worker that holds it stores nothing."""
        if (yield work_queries.DROP(kind=kind, key=key)):
            self._change_room(kind, 1)
        yield work_queries.FORGET_DEAD(kind=kind, key=key)

    def enqueuing_many(self, kind: str, asked: Sequence[Asked]) -> Transaction[None]:
        """Ask for many items of the lane without a name in few statements; each key once. Raises as `enqueue` does."""
        settings = self._kind(kind)
        if not asked:
            return
        for one in asked:
            if len(one.payload) > MAX_PAYLOAD_BYTES:
                raise issues.PAYLOAD_TOO_LARGE.error(
                    kind=kind, key=one.key, size=len(one.payload), limit=MAX_PAYLOAD_BYTES
                )
        now = self._now_micros()
        yield from self._ensure_room_for(settings, [one.key for one in asked])
        rows = yield work_queries.ENQUEUE_MANY(
            kind=kind,
            lane="",
            now=now,
            steps=LANE_STEPS,
            # In the order of keys, so that two servers wait for each other and never in a circle.
            items=json_list(
                (one.key, one.payload, now if one.due_at is None else to_micros(one.due_at)) for one in sorted(asked)
            ),
        )
        self._change_room(kind, -sum(generation == 1 for (generation,) in rows))
        yield Wake(topic(kind))

    def ensuring_room(self, kind: str, keys: Sequence[str]) -> Transaction[None]:
        """For who wants to know before it does anything else. Raises UnavailableError as `enqueue` does."""
        if keys:
            yield from self._ensure_room_for(self._kind(kind), keys)

    # Doing it

    async def claim(self, kind: str, owner: str, *, limit: int, lease_s: float) -> list[Claim]:
        """Lease up to `limit` items for `lease_s`, in fair order. `owner` is unique to a running worker.

        An item that has lost its holder in every try it had is buried instead of handed out.
        """
        return await self._database.write(self._claiming, self._kind(kind), owner, limit, lease_s)

    async def extend(self, claim: Claim, lease_s: float) -> bool:
        """Keep a lease going; False if the item is no longer ours: then stop working on it."""
        return await self._database.write(self._extending, claim, lease_s)

    async def complete(self, claim: Claim) -> bool:
        """The item is done; False if it is no longer ours and somebody else does it."""
        return await self._database.write(self.completing, claim)

    async def fail(self, claim: Claim, error: str) -> Failure:
        """The item failed: tried again after a pause, or dead, or no longer ours."""
        return await self._database.write(self._failing, claim, error)

    async def give_back(self, claim: Claim) -> bool:
        """Let another worker do it at once, as on shutdown; the try is not counted."""
        return await self._database.write(self._giving_back, claim)

    def completing(self, claim: Claim) -> Transaction[bool]:
        """Complete as part of the transaction that stores the result. A caller that gets False raises, to store nothing."""
        held = _held(claim)
        if (yield work_queries.REMOVE_DONE(**held)):
            self._change_room(claim.kind, 1)
        elif not (yield work_queries.WAIT_AGAIN(**held, now=self._now_micros(), steps=LANE_STEPS)):
            return False
        else:
            yield Wake(topic(claim.kind))
        yield work_queries.FORGET_DEAD(kind=claim.kind, key=claim.key)
        return True

    def completing_many(self, claims: Sequence[Claim]) -> Transaction[bool]:
        """Complete all items of one claim, as `completing`. False if one of them is no longer ours."""
        if not claims:
            return True
        first = claims[0]
        keys = json_list(sorted(one.key for one in claims))
        rows = yield work_queries.REMOVE_MANY_DONE(kind=first.kind, keys=keys, owner=first.owner, fence=first.fence)
        self._change_room(first.kind, len(rows))
        removed = {key for (key,) in rows}
        yield work_queries.FORGET_MANY_DEAD(kind=first.kind, keys=keys)
        # Asked for again while they were held: few, if any.
        for claim in claims:
            if claim.key not in removed and not (yield from self.completing(claim)):
                return False
        return True

    def _claiming(self, kind: WorkKind, owner: str, limit: int, lease_s: float) -> Transaction[list[Claim]]:
        ((fence,),) = yield work_queries.NEXT_FENCE()
        now = self._database.clock.now()
        lease_until = now + timedelta(seconds=lease_s)
        rows = yield work_queries.CLAIM(
            kind=kind.name,
            owner=owner,
            fence=fence,
            now=to_micros(now),
            lease_until=to_micros(lease_until),
            limit=limit,
        )
        claims = []
        # The database gives the rows it changed in any order; the first three columns are the fair one.
        for _, _, key, lane, payload, generation, attempts, last_error in sorted(map(tuple, rows)):
            claim = Claim(kind.name, key, lane, payload, attempts, generation, owner, fence, lease_until)
            if attempts <= kind.max_attempts:
                claims.append(claim)
            else:
                yield from self._burying(kind, claim, last_error or "its worker was lost in every try")
        return claims

    def _extending(self, claim: Claim, lease_s: float) -> Transaction[bool]:
        lease_until = self._database.clock.now() + timedelta(seconds=lease_s)
        return bool((yield work_queries.EXTEND(**_held(claim), lease_until=to_micros(lease_until))))

    def _failing(self, claim: Claim, error: str) -> Transaction[Failure]:
        kind = self._kind(claim.kind)
        error = error[:MAX_ERROR_CHARS]
        retry_at = self._database.clock.now() + timedelta(seconds=kind.pause_s(claim.key, claim.attempt))
        retried = yield work_queries.RETRY(
            **_held(claim), error=error, retry_at=to_micros(retry_at), max_attempts=kind.max_attempts
        )
        if retried:
            return Failure.RETRIED
        return (yield from self._burying(kind, claim, error))

    def _burying(self, kind: WorkKind, claim: Claim, error: str) -> Transaction[Failure]:
        now = self._database.clock.now()
        held = _held(claim)
        if (yield work_queries.BURY(**held, error=error, now=to_micros(now), max_dead=kind.max_dead)):
            yield work_queries.REMOVE_HELD(**held)
            self._change_room(kind.name, 1)
            return Failure.DEAD
        retry_at = now + timedelta(seconds=kind.pause_cap_s)
        kept = yield work_queries.PUT_OFF(
            **held, error=error, retry_at=to_micros(retry_at), max_attempts=kind.max_attempts
        )
        return Failure.RETRIED if kept else Failure.LOST

    def _giving_back(self, claim: Claim) -> Transaction[bool]:
        yield Wake(topic(claim.kind))
        return bool((yield work_queries.GIVE_BACK(**_held(claim))))

    # Looking after it

    async def dead(self, after: tuple[str, str] = ("", ""), limit: int = 100) -> list[DeadLetter]:
        """Dead letters by kind and key, a page at a time; `after` is the kind and key of the last one seen."""
        return await self._database.read(_reading_dead, after, limit)

    async def waiting(self, after: tuple[str, str] = ("", ""), limit: int = 100) -> list[WaitingItem]:
        """Items in the queue by kind and key, a page at a time."""
        return await self._database.read(_reading_items, after, limit)

    async def counts(self) -> list[Counts]:
        """How much waits, is held, is dead, one row a kind."""
        return await self._database.read(_counting)

    async def requeue(self, kind: str, key: str) -> bool:
        """Try a dead letter again; False if newer work for the same key was queued meanwhile, which stays as it is.

        Raises NotFoundError WORK-004.
        """
        return await self._database.write(self._requeuing, kind, key)

    def _requeuing(self, kind: str, key: str) -> Transaction[bool]:
        rows = yield work_queries.FORGET_DEAD(kind=kind, key=key)
        if not rows:
            raise issues.NO_DEAD_LETTER.error(kind=kind, key=key)
        if (yield work_queries.EXISTS(kind=kind, key=key)):
            return False
        ((lane, payload),) = rows
        return (yield from self.enqueuing(kind, key, bytes(payload), lane=lane))

    # The bound

    def _recount(self, kind: WorkKind) -> Transaction[None]:
        """Know how much room there is, counting anew once in a while."""
        _, counted_s = self._room.get(kind.name, (0, float("-inf")))
        now_s = self._database.clock.monotonic_s()
        if now_s - counted_s >= RECOUNT_S:
            ((count,),) = yield work_queries.COUNT_UP_TO(kind=kind.name, limit=kind.max_items)
            self._room[kind.name] = (kind.max_items - count, now_s)

    def _ensure_room(self, kind: WorkKind, key: str) -> Transaction[None]:
        yield from self._recount(kind)
        if self._room[kind.name][0] <= 0 and not (yield work_queries.EXISTS(kind=kind.name, key=key)):
            raise issues.QUEUE_FULL.error(kind=kind.name, limit=kind.max_items)

    def _ensure_room_for(self, kind: WorkKind, keys: Sequence[str]) -> Transaction[None]:
        yield from self._recount(kind)
        if self._room[kind.name][0] >= len(keys):
            return
        ((known,),) = yield work_queries.COUNT_KNOWN(kind=kind.name, keys=json_list(keys))
        if self._room[kind.name][0] < len(keys) - known:
            raise issues.QUEUE_FULL.error(kind=kind.name, limit=kind.max_items)

    def _change_room(self, kind: str, by: int) -> None:
        if kind in self._room:
            room, counted_s = self._room[kind]
            self._room[kind] = (room + by, counted_s)

    def _kind(self, name: str) -> WorkKind:
        if name not in self._kinds:
            raise issues.UNKNOWN_KIND.error(kind=name)
        return self._kinds[name]

    def _now_micros(self) -> int:
        return to_micros(self._database.clock.now())


def topic(kind: str) -> str:
    """What workers of a kind subscribe to."""
    return f"work.{kind}"


def _held(claim: Claim) -> Mapping[str, object]:
    return {"kind": claim.kind, "key": claim.key, "owner": claim.owner, "fence": claim.fence}


def finding(kind: str, key: str) -> Transaction[WaitingItem | None]:
    """An item that waits or is held."""
    rows = yield work_queries.FIND(kind=kind, key=key)
    return _item(rows[0]) if rows else None


def finding_among(kind: str, keys: Sequence[str], now: datetime) -> Transaction[dict[str, bool]]:
    """Those among these keys that wait or are held, and whether they are due or taken up; others have to wait."""
    rows = yield work_queries.FIND_AMONG(kind=kind, keys=json_list(keys), now=to_micros(now))
    return {key: bool(is_due) for key, is_due in rows}


def finding_dead_among(kind: str, keys: Sequence[str]) -> Transaction[set[str]]:
    """Those among these keys that were given up and not asked for since."""
    return {key for (key,) in (yield work_queries.FIND_DEAD_AMONG(kind=kind, keys=json_list(keys)))}


def finding_dead(kind: str, key: str) -> Transaction[DeadLetter | None]:
    rows = yield work_queries.FIND_DEAD(kind=kind, key=key)
    return _letter(rows[0]) if rows else None


def _reading_dead(after: tuple[str, str], limit: int) -> Transaction[list[DeadLetter]]:
    return [_letter(row) for row in (yield work_queries.DEAD(after_kind=after[0], after_key=after[1], limit=limit))]


def _reading_items(after: tuple[str, str], limit: int) -> Transaction[list[WaitingItem]]:
    return [_item(row) for row in (yield work_queries.ITEMS(after_kind=after[0], after_key=after[1], limit=limit))]


def _letter(row: Row) -> DeadLetter:
    kind, key, lane, payload, attempts, last_error, queued, died = row
    return DeadLetter(kind, key, lane, payload, attempts, last_error, from_micros(queued), from_micros(died))


def _item(row: Row) -> WaitingItem:
    kind, key, lane, attempts, queued, ready, owner, last_error = row
    return WaitingItem(kind, key, lane, attempts, from_micros(queued), from_micros(ready), owner, last_error)


def _counting() -> Transaction[list[Counts]]:
    rows = yield work_queries.COUNTS()
    counts: dict[str, Counts] = {}
    for kind, waiting, held, oldest, dead in rows:
        so_far = counts.get(kind, Counts(kind, 0, 0, 0, None))
        counts[kind] = Counts(
            kind,
            so_far.waiting + waiting,
            so_far.held + held,
            so_far.dead + dead,
            so_far.oldest_at if oldest is None else from_micros(oldest),
        )
    return [counts[kind] for kind in sorted(counts)]
