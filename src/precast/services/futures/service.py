"""What people see of standing values, and put themselves. A sensitive value goes to nodes only."""

import asyncio
import contextlib
import zlib
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from precast.base import canonical
from precast.base.spans import visible
from precast.services.futures import issues
from precast.services.futures.sealing import FutureSeals
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.engine.wakeups import POLL_S
from precast.store.futures import standing_values
from precast.store.futures.overview import find_users
from precast.store.futures.standing_values import PERSON, NewStanding, StandingRow
from precast.store.futures.topics import ENVIRONMENT, VALUE_PREFIX, parse_value
from precast.store.identity.audit import AuditLog
from precast.wire import futures as wire
from precast.wire.futures import FutureChanges, FutureExplanation, NewFuture, StandingFuture

PAGE = 500
# Open jobs that an explanation names.
JOBS = 20
# The most nodes of one key that are shown.
MAX_NODES = wire.MAX_PRODUCERS
MAX_KEY = 200
# The longest time that a viewer may wait for a change.
MAX_WAIT_S = 20.0
# The fence of what a person puts: a run of the node that follows has another local store, and so replaces it.
NO_FENCE = 0


class FutureService:
    """Holds no state between calls."""

    def __init__(self, database: Database, seals: FutureSeals, audit: AuditLog) -> None:
        self._database, self._seals, self._audit = database, seals, audit

    async def list_page(self, environment: str, after: tuple[str, str]) -> list[StandingFuture]:
        """A page of the values of an environment, by key and node."""
        rows = await self._database.read(standing_values.list_page, environment, after, PAGE)
        return self._view(rows)

    async def get(self, environment: str, key: str, node: str = "") -> list[StandingFuture]:
        """The values of a key by node, or that of one node. Raises NotFoundError FUTURE-002, InputError FUTURE-003."""
        check_key(key)
        values = [value for value in await self._read_key(environment, key) if node in ("", value.node)]
        if not values:
            raise issues.NO_VALUE.error(key=visible(key), environment=environment)
        return values

    async def changes(self, environment: str, key: str, after: int, wait_s: float) -> FutureChanges:
        """The values of a key once one is newer than `after`, or after a while. Raises InputError FUTURE-003."""
        check_key(key)
        clock, changed = self._database.clock, asyncio.Event()
        until_s = clock.monotonic_s() + min(max(wait_s, 0.0), MAX_WAIT_S)

        def note(topic: str) -> None:
            value = parse_value(topic)
            if value is not None and value[:2] == (ENVIRONMENT, environment) and value.key in ("", key):
                changed.set()

        with self._database.wakeups.prefix_subscription(VALUE_PREFIX, note):
            while True:
                changed.clear()
                values = await self._read_key(environment, key)
                last = _last(values)
                left_s = until_s - clock.monotonic_s()
                if last != after or left_s <= 0:
                    return FutureChanges(values, last)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left_s, POLL_S)):
                        await changed.wait()

    async def why(self, environment: str, key: str) -> FutureExplanation:
        """Who promises and who needs a key, its values, and the open jobs that are concerned. Raises InputError FUTURE-003."""
        check_key(key)
        users = await self._database.read(find_users, environment, key, PAGE, JOBS)
        values = await self._read_key(environment, key)
        is_complete = len(users.promising) + len(users.needing) < PAGE and len(users.jobs) < JOBS
        return FutureExplanation(
            key, environment, users.promising, users.needing, values[:PAGE], users.jobs, is_complete
        )

    async def put(self, environment: str, new: NewFuture, actor: str) -> list[StandingFuture]:
        """Store a value in place of what a node promised, or for no node; or delete one.

        Raises InputError FUTURE-001, FUTURE-003, JSON-001 to JSON-003, NotFoundError FUTURE-002 for the deletion of none.
        """
        check_key(new.key)
        value = canonical.encode(new.value)
        if len(value) > wire.MAX_VALUE_BYTES:
            raise issues.TOO_LARGE.error(key=new.key, size=len(value), limit=wire.MAX_VALUE_BYTES)
        await self._database.write(self._put, environment, new, value, actor)
        return await self._read_key(environment, new.key)

    def _put(self, environment: str, new: NewFuture, value: bytes, actor: str) -> Transaction[None]:
        detail = {"environment": environment, "node": new.node}
        if new.is_removal:
            if not (yield from standing_values.delete_value(environment, new.key, new.node)):
                raise issues.NO_VALUE.error(key=new.key, environment=environment)
            yield from self._audit.add(actor, "future.remove", new.key, **detail)
            return
        stored = yield from self._seals.store(environment, value, is_sensitive=new.is_sensitive)
        now = self._database.clock.now()
        expires_at = None if new.ttl_s is None else now + timedelta(seconds=new.ttl_s)
        place = environment, new.key, new.node, PERSON, stored
        yield from standing_values.put_values([NewStanding(*place, "", NO_FENCE, actor, expires_at)], now)
        yield from self._audit.add(actor, "future.put", new.key, **detail, is_sensitive=new.is_sensitive)

    async def _read_key(self, environment: str, key: str) -> list[StandingFuture]:
        return self._view(await self._database.read(standing_values.list_of_key, environment, key, MAX_NODES))

    def _view(self, rows: Sequence[StandingRow]) -> list[StandingFuture]:
        now = self._database.clock.now()
        shown = []
        for row in rows:
            is_expired = row.expires_at is not None and row.expires_at <= now
            value = None if row.is_sensitive or is_expired else msgspec.json.decode(row.value)
            shown.append(
                StandingFuture(
                    *(row.environment, row.key, row.node, row.number, row.said_by, row.fulfilled_at, row.changed_at),
                    *(row.is_sensitive, row.expires_at, is_expired, value),
                )
            )
        return shown


def check_key(key: str) -> None:
    """Raises InputError FUTURE-003 if no future can have this key."""
    if not key:
        raise issues.BAD_KEY.error(key="the empty text", reason="it is empty")
    if len(key) > MAX_KEY:
        raise issues.BAD_KEY.error(key=visible(key[:40]) + "…", reason=f"it has {len(key)} characters")
    if not key.isprintable():
        raise issues.BAD_KEY.error(key=visible(key), reason="it has a control character")


def _last(values: Sequence[StandingFuture]) -> int:
    """A number that differs after each change, also if one was deleted."""
    return zlib.crc32(repr([(value.node, value.number) for value in values]).encode()) if values else 0
