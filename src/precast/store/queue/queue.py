"""The work queue: items of work, one for each (kind, key), that workers claim.

Enqueuing an item twice keeps one item with the newest payload. A claim is a lease with a fence: when the lease expires any worker can
claim the item, and the completion of the old claim is refused. A failed item is retried with a growing backoff and ends as a dead
letter that operators can inspect and requeue. The order is fair: the turns of one lane are spaced out, so a lane with ten thousand items
does not delay the single item of another lane, which is next after the claimed ones; and since that position advances with every turn,
no item is overtaken for ever.

Every async method is one transaction. The methods that return a `Transaction` take part in the transaction of a caller.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from precast.base.clock import from_micros, to_micros
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake, json_list
from precast.store.queue import queries
from precast.store.queue.kinds import (
    LANE_STEPS,
    MAX_ERROR_CHARS,
    MAX_PAYLOAD_BYTES,
    Claim,
    DeadLetter,
    Failure,
    ItemRequest,
    KindCounts,
    WaitingItem,
    WorkKind,
)

RECOUNT_S = 1.0


class WorkQueue:
    """The queue in one database, for the kinds declared here.

    The bound on a kind is exact among the writers of one process; items that other servers add are counted once a second.
    """

    def __init__(self, database: Database, kinds: Iterable[WorkKind]) -> None:
        self._database = database
        self._kinds = {kind.name: kind for kind in kinds}
        self.kinds = tuple(self._kinds)
        # Used only inside write transactions, of which one runs at a time.
        self._room: dict[str, tuple[int, float]] = {}

    # Enqueuing

    async def enqueue(
        self, kind: str, key: str, payload: bytes, *, lane: str = "", due_at: datetime | None = None
    ) -> bool:
        """Enqueue an item. Returns whether it is new; otherwise it was waiting or claimed, and has this payload now.

        Raises UnavailableError WORK-002 if the kind is full, InputError WORK-003 if the payload is too large.
        """
        return await self._database.write(self.enqueue_item, kind, key, payload, lane=lane, due_at=due_at)

    def enqueue_item(
        self, kind: str, key: str, payload: bytes, *, lane: str = "", due_at: datetime | None = None
    ) -> Transaction[bool]:
        settings = self._kind(kind)
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise issues.PAYLOAD_TOO_LARGE.error(kind=kind, key=key, size=len(payload), limit=MAX_PAYLOAD_BYTES)
        now = self._now_micros()
        yield from self._ensure_room(settings, key)
        ((generation,),) = yield queries.ENQUEUE(
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

    def drop_item(self, kind: str, key: str) -> Transaction[None]:
        """Remove an item and its dead letter. A worker that has claimed it loses the claim."""
        if (yield queries.DROP(kind=kind, key=key)):
            self._change_room(kind, 1)
        yield queries.DELETE_DEAD(kind=kind, key=key)

    def enqueue_items(self, kind: str, requests: Sequence[ItemRequest]) -> Transaction[None]:
        """Enqueue many items of the unnamed lane in few statements; each key at most once. Raises as `enqueue` does."""
        settings = self._kind(kind)
        if not requests:
            return
        for request in requests:
            if len(request.payload) > MAX_PAYLOAD_BYTES:
                raise issues.PAYLOAD_TOO_LARGE.error(
                    kind=kind, key=request.key, size=len(request.payload), limit=MAX_PAYLOAD_BYTES
                )
        now = self._now_micros()
        yield from self._ensure_room_for(settings, [request.key for request in requests])
        rows = yield queries.ENQUEUE_MANY(
            kind=kind,
            lane="",
            now=now,
            steps=LANE_STEPS,
            # In the order of keys, so that two servers cannot deadlock.
            items=json_list(
                (request.key, request.payload, now if request.due_at is None else to_micros(request.due_at))
                for request in sorted(requests)
            ),
        )
        self._change_room(kind, -sum(generation == 1 for (generation,) in rows))
        yield Wake(topic(kind))

    def require_room(self, kind: str, keys: Sequence[str]) -> Transaction[None]:
        """Check that the queue has room for these keys. Raises UnavailableError as `enqueue` does."""
        if keys:
            yield from self._ensure_room_for(self._kind(kind), keys)

    # Working

    async def claim(self, kind: str, owner: str, *, limit: int, lease_s: float) -> list[Claim]:
        """Lease up to `limit` items for `lease_s`, in fair order. `owner` is unique to a running worker.

        An item whose worker was lost in every attempt becomes a dead letter instead.
        """
        return await self._database.write(self._claim_items, self._kind(kind), owner, limit, lease_s)

    async def extend(self, claim: Claim, lease_s: float) -> bool:
        """Extend a lease; False if the claim is lost: then stop working on the item."""
        return await self._database.write(self._extend_lease, claim, lease_s)

    async def complete(self, claim: Claim) -> bool:
        """Complete an item; False if the claim is lost and another worker does it."""
        return await self._database.write(self.complete_claim, claim)

    async def fail(self, claim: Claim, error: str) -> Failure:
        """Record a failed attempt: the item is retried after a backoff, or dead, or the claim is lost."""
        return await self._database.write(self._record_failure, claim, error)

    async def give_back(self, claim: Claim) -> bool:
        """Release a claim, as on shutdown, so that another worker can claim the item at once; the attempt is not counted."""
        return await self._database.write(self._release_claim, claim)

    def complete_claim(self, claim: Claim) -> Transaction[bool]:
        """Complete an item in the transaction that stores its result. A caller that gets False raises, so that nothing is stored."""
        claimed = _claim_values(claim)
        if (yield queries.REMOVE_DONE(**claimed)):
            self._change_room(claim.kind, 1)
        elif not (yield queries.WAIT_AGAIN(**claimed, now=self._now_micros(), steps=LANE_STEPS)):
            return False
        else:
            yield Wake(topic(claim.kind))
        yield queries.DELETE_DEAD(kind=claim.kind, key=claim.key)
        return True

    def complete_claims(self, claims: Sequence[Claim]) -> Transaction[bool]:
        """Complete all items of one claim, as `complete_claim`. False if one of them is lost."""
        if not claims:
            return True
        first = claims[0]
        keys = json_list(sorted(claim.key for claim in claims))
        rows = yield queries.REMOVE_MANY_DONE(kind=first.kind, keys=keys, owner=first.owner, fence=first.fence)
        self._change_room(first.kind, len(rows))
        removed = {key for (key,) in rows}
        yield queries.DELETE_MANY_DEAD(kind=first.kind, keys=keys)
        # Items that were enqueued again while they were claimed: few, if any.
        for claim in claims:
            if claim.key not in removed and not (yield from self.complete_claim(claim)):
                return False
        return True

    def _claim_items(self, kind: WorkKind, owner: str, limit: int, lease_s: float) -> Transaction[list[Claim]]:
        ((fence,),) = yield queries.NEXT_FENCE()
        now = self._database.clock.now()
        lease_until = now + timedelta(seconds=lease_s)
        rows = yield queries.CLAIM(
            kind=kind.name,
            owner=owner,
            fence=fence,
            now=to_micros(now),
            lease_until=to_micros(lease_until),
            limit=limit,
        )
        claims = []
        # The database returns the changed rows in any order; the first three columns give the fair one.
        for _, _, key, lane, payload, generation, attempts, last_error in sorted(map(tuple, rows)):
            claim = Claim(kind.name, key, lane, payload, attempts, generation, owner, fence, lease_until)
            if attempts <= kind.max_attempts:
                claims.append(claim)
            else:
                yield from self._bury(kind, claim, last_error or "its worker was lost in every attempt")
        return claims

    def _extend_lease(self, claim: Claim, lease_s: float) -> Transaction[bool]:
        lease_until = self._database.clock.now() + timedelta(seconds=lease_s)
        return bool((yield queries.EXTEND(**_claim_values(claim), lease_until=to_micros(lease_until))))

    def _record_failure(self, claim: Claim, error: str) -> Transaction[Failure]:
        kind = self._kind(claim.kind)
        error = error[:MAX_ERROR_CHARS]
        retry_at = self._database.clock.now() + timedelta(seconds=kind.pause_s(claim.key, claim.attempt))
        retried = yield queries.RETRY(
            **_claim_values(claim), error=error, retry_at=to_micros(retry_at), max_attempts=kind.max_attempts
        )
        if retried:
            return Failure.RETRIED
        return (yield from self._bury(kind, claim, error))

    def _bury(self, kind: WorkKind, claim: Claim, error: str) -> Transaction[Failure]:
        now = self._database.clock.now()
        claimed = _claim_values(claim)
        if (yield queries.BURY(**claimed, error=error, now=to_micros(now), max_dead=kind.max_dead)):
            yield queries.REMOVE_HELD(**claimed)
            self._change_room(kind.name, 1)
            return Failure.DEAD
        retry_at = now + timedelta(seconds=kind.pause_cap_s)
        postponed = yield queries.PUT_OFF(
            **claimed, error=error, retry_at=to_micros(retry_at), max_attempts=kind.max_attempts
        )
        return Failure.RETRIED if postponed else Failure.LOST

    def _release_claim(self, claim: Claim) -> Transaction[bool]:
        yield Wake(topic(claim.kind))
        return bool((yield queries.GIVE_BACK(**_claim_values(claim))))

    # Operating

    async def list_dead(self, after: tuple[str, str] = ("", ""), limit: int = 100) -> list[DeadLetter]:
        """List dead letters by kind and key, a page at a time; `after` is the kind and key of the last one of the page before."""
        return await self._database.read(_list_dead, after, limit)

    async def list_waiting(self, after: tuple[str, str] = ("", ""), limit: int = 100) -> list[WaitingItem]:
        """List items in the queue by kind and key, a page at a time."""
        return await self._database.read(_list_items, after, limit)

    async def count_by_kind(self) -> list[KindCounts]:
        """Count waiting, claimed and dead items of each kind."""
        return await self._database.read(_count_by_kind)

    async def requeue(self, kind: str, key: str) -> bool:
        """Enqueue a dead letter again; False if the same key was enqueued meanwhile, which stays as it is.

        Raises NotFoundError WORK-004.
        """
        return await self._database.write(self._requeue_dead, kind, key)

    def _requeue_dead(self, kind: str, key: str) -> Transaction[bool]:
        rows = yield queries.DELETE_DEAD(kind=kind, key=key)
        if not rows:
            raise issues.NO_DEAD_LETTER.error(kind=kind, key=key)
        if (yield queries.EXISTS(kind=kind, key=key)):
            return False
        ((lane, payload),) = rows
        return (yield from self.enqueue_item(kind, key, bytes(payload), lane=lane))

    # The bound

    def _recount(self, kind: WorkKind) -> Transaction[None]:
        """Count the items again if the last count is older than `RECOUNT_S`."""
        _, counted_s = self._room.get(kind.name, (0, float("-inf")))
        now_s = self._database.clock.monotonic_s()
        if now_s - counted_s >= RECOUNT_S:
            ((count,),) = yield queries.COUNT_UP_TO(kind=kind.name, limit=kind.max_items)
            self._room[kind.name] = (kind.max_items - count, now_s)

    def _ensure_room(self, kind: WorkKind, key: str) -> Transaction[None]:
        yield from self._recount(kind)
        if self._room[kind.name][0] <= 0 and not (yield queries.EXISTS(kind=kind.name, key=key)):
            raise issues.QUEUE_FULL.error(kind=kind.name, limit=kind.max_items)

    def _ensure_room_for(self, kind: WorkKind, keys: Sequence[str]) -> Transaction[None]:
        yield from self._recount(kind)
        if self._room[kind.name][0] >= len(keys):
            return
        ((known,),) = yield queries.COUNT_KNOWN(kind=kind.name, keys=json_list(keys))
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
    """The topic that workers of a kind subscribe to."""
    return f"work.{kind}"


def _claim_values(claim: Claim) -> Mapping[str, object]:
    return {"kind": claim.kind, "key": claim.key, "owner": claim.owner, "fence": claim.fence}


def find_item(kind: str, key: str) -> Transaction[WaitingItem | None]:
    """Find an item in the queue, waiting or claimed."""
    rows = yield queries.FIND(kind=kind, key=key)
    return _item(rows[0]) if rows else None


def find_items(kind: str, keys: Sequence[str], now: datetime) -> Transaction[dict[str, bool]]:
    """Return those of the keys that are in the queue, and whether each is due or claimed."""
    rows = yield queries.FIND_AMONG(kind=kind, keys=json_list(keys), now=to_micros(now))
    return {key: bool(is_due) for key, is_due in rows}


def find_dead_keys(kind: str, keys: Sequence[str]) -> Transaction[set[str]]:
    """Return those of the keys that are dead letters and were not enqueued since."""
    return {key for (key,) in (yield queries.FIND_DEAD_AMONG(kind=kind, keys=json_list(keys)))}


def find_dead_letter(kind: str, key: str) -> Transaction[DeadLetter | None]:
    rows = yield queries.FIND_DEAD(kind=kind, key=key)
    return _letter(rows[0]) if rows else None


def _list_dead(after: tuple[str, str], limit: int) -> Transaction[list[DeadLetter]]:
    return [_letter(row) for row in (yield queries.DEAD(after_kind=after[0], after_key=after[1], limit=limit))]


def _list_items(after: tuple[str, str], limit: int) -> Transaction[list[WaitingItem]]:
    return [_item(row) for row in (yield queries.ITEMS(after_kind=after[0], after_key=after[1], limit=limit))]


def _letter(row: Row) -> DeadLetter:
    kind, key, lane, payload, attempts, last_error, queued, died = row
    return DeadLetter(kind, key, lane, payload, attempts, last_error, from_micros(queued), from_micros(died))


def _item(row: Row) -> WaitingItem:
    kind, key, lane, attempts, queued, ready, owner, last_error = row
    return WaitingItem(kind, key, lane, attempts, from_micros(queued), from_micros(ready), owner, last_error)


def _count_by_kind() -> Transaction[list[KindCounts]]:
    rows = yield queries.COUNTS()
    counts: dict[str, KindCounts] = {}
    for kind, waiting, held, oldest, dead in rows:
        so_far = counts.get(kind, KindCounts(kind, 0, 0, 0, None))
        counts[kind] = KindCounts(
            kind,
            so_far.waiting + waiting,
            so_far.held + held,
            so_far.dead + dead,
            so_far.oldest_at if oldest is None else from_micros(oldest),
        )
    return [counts[kind] for kind in sorted(counts)]
