"""Delivers values to the connected nodes that wait for them.

The database is the truth and a wake-up a hint: a subscription is registered before its state is read, so no change between the two is
lost; a wake-up marks the value that has changed, and one read serves all subscribers of this process; what a lost wake-up would have
said is found by polling. The number of a value grows with each change, so no older state follows a newer one.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.services.futures import issues
from precast.services.futures.sealing import FutureSeals
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.engine.wakeups import POLL_S
from precast.store.futures import job_promises, standing_values
from precast.store.futures.catalog_futures import NeedClaim, NeedRight, find_need_rights, list_needs
from precast.store.futures.topics import ENVIRONMENT, JOB, VALUE_PREFIX, ValueKey, parse_value
from precast.store.futures.values import ValueRow
from precast.wire.jobs.order_ids import parse_order_id
from precast.wire.sessions import KeyValue, Message, Subscribe, Values

log = logging.getLogger("precast.futures")

# Values that one read serves, and that one poll looks at.
READ_AT_ONCE = 2_000
# A message of values is at most about so large.
MESSAGE_BYTES = 128 * 1024
# How long the right of a subscription is trusted. After a release another catalog may be the node's.
TRUST_S = 30.0


class Subscriber(Protocol):
    """The connection of a node."""

    @property
    def name(self) -> str: ...

    def send_now(self, message: Message) -> bool:
        """Send a message without waiting; False if the node does not read."""

    async def send(self, message: Message) -> None:
        """Send a message, and wait while the node does not read. A connection that cannot send ends; nothing is raised."""


class _Watched(NamedTuple):
    """A key of an environment or of a job."""

    kind: str
    owner: str
    key: str


class _State(NamedTuple):
    """What a subscription is answered from: its right, the keys with their owners, and their values."""

    right: NeedRight
    watched: list[_Watched]
    rows: list[ValueRow]


class Subscription:
    """The subscription of one connection for one catalog."""

    __slots__ = ("claim", "is_lagging", "order", "sent", "subscriber", "trusted_s", "watched")

    def __init__(self, subscriber: Subscriber, claim: NeedClaim, order: str) -> None:
        self.subscriber, self.claim, self.order = subscriber, claim, order
        self.watched: list[_Watched] = []
        self.sent: dict[tuple[str, str], int] = {}  # the number of each value, by key and node
        self.trusted_s = 0.0
        self.is_lagging = False  # the node does not read; the whole state is sent again when it does


class FutureHub:
    """The subscriptions of a process. The number of connections and of the keys of their catalogs bounds them."""

    def __init__(self, database: Database, seals: FutureSeals) -> None:
        self._database, self._seals = database, seals
        self._clock: Clock = database.clock
        self._by_connection: dict[Subscriber, dict[str, Subscription]] = {}
        self._by_key: dict[_Watched, set[Subscription]] = {}
        self._by_owner: dict[tuple[str, str], set[_Watched]] = {}
        self._dirty: set[ValueKey] = set()
        self._is_dirty = asyncio.Event()
        self._polled: list[_Watched] = []
        # The numbers of values by node, as they were polled last; of watched keys only.
        self._known: dict[_Watched, dict[str, int]] = {}
        self._lagging: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """How many subscriptions there are."""
        return sum(map(len, self._by_connection.values()))

    async def run(self) -> None:
        """Deliver changes, for ever."""
        with self._database.wakeups.prefix_subscription(VALUE_PREFIX, self._on_changed):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._deliver())
                tasks.create_task(self._poll())

    async def subscribe(self, subscriber: Subscriber, message: Subscribe) -> None:
        """Answer a subscription by its whole state, and deliver changes from now on. Raises UnavailableError."""
        self._remove(subscriber, message.order)
        if not message.catalog:
            return
        parsed = parse_order_id(message.order)
        if parsed is None and message.order:
            await self._refuse(subscriber, message)
            return
        claim = NeedClaim(subscriber.name, message.catalog, *(() if parsed is None else parsed))
        subscription = Subscription(subscriber, claim, message.order)
        state = await self._database.read_item(_read_keys, claim)
        if state is None:
            await self._refuse(subscriber, message)
            return
        subscription.watched = state.watched
        self._add(subscription)
        await self._answer(subscription)

    def forget(self, subscriber: Subscriber) -> None:
        """The connection has ended."""
        for order in list(self._by_connection.get(subscriber, ())):
            self._remove(subscriber, order)

    async def _answer(self, subscription: Subscription) -> None:
        """Send the whole state. It is read after the subscription was registered, so nothing is missed."""
        state = await self._database.read_item(_read_state, subscription.claim)
        if state is None:
            self._remove(subscription.subscriber, subscription.order)
            await self._refuse(subscription.subscriber, Subscribe(subscription.claim.digest, subscription.order))
            return
        if state.watched != subscription.watched:  # the members of a job that releases may promise more by now
            self._watch_instead(subscription, state.watched)
        subscription.trusted_s = self._clock.monotonic_s()
        changes = await self._changes(state.rows)
        await self._send_all(subscription, changes)

    async def _send_all(self, subscription: Subscription, changes: Sequence[KeyValue]) -> None:
        for value in changes:
            name = value.key, value.node
            subscription.sent[name] = max(subscription.sent.get(name, 0), value.number)
        messages = _split(subscription, changes)
        for message in messages:
            await subscription.subscriber.send(message)

    async def _refuse(self, subscriber: Subscriber, message: Subscribe) -> None:
        error = issues.NO_CATALOG.error().message
        await subscriber.send(Values(message.catalog, [], message.order, True, error))

    # The register

    def _add(self, subscription: Subscription) -> None:
        self._by_connection.setdefault(subscription.subscriber, {})[subscription.order] = subscription
        self._watch(subscription)

    def _remove(self, subscriber: Subscriber, order: str) -> None:
        orders = self._by_connection.get(subscriber, {})
        subscription = orders.pop(order, None)
        if subscription is not None:
            self._unwatch(subscription)
            if not orders:
                del self._by_connection[subscriber]

    def _watch(self, subscription: Subscription) -> None:
        for watched in subscription.watched:
            self._by_key.setdefault(watched, set()).add(subscription)
            self._by_owner.setdefault(watched[:2], set()).add(watched)

    def _unwatch(self, subscription: Subscription) -> None:
        for watched in subscription.watched:
            others = self._by_key[watched]
            others.discard(subscription)
            if not others:
                del self._by_key[watched]
                self._known.pop(watched, None)
                owned = self._by_owner[watched[:2]]
                owned.discard(watched)
                if not owned:
                    del self._by_owner[watched[:2]]

    def _watch_instead(self, subscription: Subscription, watched: list[_Watched]) -> None:
        self._unwatch(subscription)
        subscription.watched = watched
        self._watch(subscription)

    # Changes

    def _on_changed(self, topic: str) -> None:
        value = parse_value(topic)
        if value is None:
            return
        if value.key:
            if _Watched(*value[:3]) in self._by_key:
                self._mark([value])
        else:
            self._mark(ValueKey(*watched, "") for watched in self._by_owner.get(value[:2], ()))

    def _mark(self, values: Iterable[ValueKey]) -> None:
        """Have these values read; an empty node means all nodes that promise the key."""
        self._dirty.update(values)
        if self._dirty:
            self._is_dirty.set()

    async def _deliver(self) -> None:
        while True:
            await self._is_dirty.wait()
            self._is_dirty.clear()
            while self._dirty:
                changed = [self._dirty.pop() for _ in range(min(len(self._dirty), READ_AT_ONCE))]
                try:
                    await self._deliver_changed(changed)
                except PrecastError as error:
                    log.warning("values are delivered later: %s", error)
                    await asyncio.sleep(POLL_S)
                    self._mark(changed)
                except Exception:
                    log.exception("values are not delivered because of a bug; they are read again")
                    await asyncio.sleep(POLL_S)

    async def _deliver_changed(self, changed: Sequence[ValueKey]) -> None:
        """Read values, and send each subscriber those that it has not been sent."""
        claims = self._find_untrusted(changed)
        rows, rights = await self._database.read(_read_changed, changed, [each.claim for each in claims])
        now_s = self._clock.monotonic_s()
        for subscription, right in zip(claims, rights, strict=True):
            subscription.trusted_s = now_s
            if right is None:
                self._remove(subscription.subscriber, subscription.order)
                await self._refuse(subscription.subscriber, Subscribe(subscription.claim.digest, subscription.order))
        by_key: dict[_Watched, list[KeyValue]] = {}
        for row, value in zip(rows, await self._changes(rows), strict=True):
            kind = ENVIRONMENT if row.is_standing else JOB
            by_key.setdefault(_Watched(kind, row.owner, row.key), []).append(value)
        outgoing: dict[Subscription, list[KeyValue]] = {}
        for watched in {_Watched(*value[:3]) for value in changed}:
            values = by_key.get(watched, [])
            gone = _find_gone(watched, changed, values)
            for subscription in self._by_key.get(watched, ()):
                news = [value for value in values if value.number > subscription.sent.get((value.key, value.node), -1)]
                news += _ended(subscription, watched, gone, values)
                if news:
                    outgoing.setdefault(subscription, []).extend(news)
        for subscription, news in outgoing.items():
            self._send(subscription, news)

    def _send(self, subscription: Subscription, news: Sequence[KeyValue]) -> None:
        """Send changes now; a node that does not read is sent the whole state when it does."""
        if subscription.is_lagging:
            return
        messages = _split(subscription, news, is_last=False)
        for message in messages:
            if not subscription.subscriber.send_now(message):
                subscription.is_lagging = True
                task = asyncio.create_task(self._catch_up(subscription), name="precast-futures-lag")
                self._lagging.add(task)
                task.add_done_callback(self._lagging.discard)
                return
            for value in message.values:
                subscription.sent[value.key, value.node] = value.number

    async def _catch_up(self, subscription: Subscription) -> None:
        """Wait until the node reads again, and send it the whole state. A connection whose node never does ends."""
        try:
            await subscription.subscriber.send(Values(subscription.claim.digest, [], subscription.order))
            subscription.is_lagging = False
            if self._by_connection.get(subscription.subscriber, {}).get(subscription.order) is subscription:
                await self._answer(subscription)
        except PrecastError as error:
            log.warning("values of %s are delivered later: %s", subscription.subscriber.name, error)
            subscription.sent.clear()
            self._mark(ValueKey(*watched, "") for watched in subscription.watched)

    def _find_untrusted(self, changed: Sequence[ValueKey]) -> list[Subscription]:
        """The subscribers of these values whose right is to be checked again."""
        limit_s = self._clock.monotonic_s() - TRUST_S
        found = {
            subscription
            for watched in {_Watched(*value[:3]) for value in changed}
            for subscription in self._by_key.get(watched, ())
            if subscription.trusted_s <= limit_s
        }
        return list(found)

    async def _changes(self, rows: Sequence[ValueRow]) -> list[KeyValue]:
        """Values as nodes are told about them. One that has expired has none."""
        opened = await self._seals.open_rows(rows)
        now = self._clock.now()
        return [_tell(row, opened.get(place), now) for place, row in enumerate(rows)]

    async def _poll(self) -> None:
        """Read values for which a wake-up may have been lost: those that most is waited for each second, the others in turn."""
        while True:
            await asyncio.sleep(POLL_S)
            if not self._polled:
                self._polled = list(self._by_key)
            page, self._polled = self._polled[:READ_AT_ONCE], self._polled[READ_AT_ONCE:]
            page = [watched for watched in page if watched in self._by_key]
            try:
                numbers = await self._database.read(_read_numbers, page) if page else {}
            except PrecastError as error:
                log.warning("values are polled later: %s", error)
                continue
            changed = [watched for watched in page if numbers.get(watched, {}) != self._known.get(watched, {})]
            self._known.update((watched, numbers.get(watched, {})) for watched in changed)
            self._mark(ValueKey(*watched, "") for watched in changed)


def _read_keys(claims: Sequence[NeedClaim]) -> Transaction[list[_State | None]]:
    """The keys that each claim may read, with their owners."""
    rights = yield from find_need_rights(claims)
    states: list[_State | None] = []
    needs: dict[str, list[str]] = {}
    for right in rights:
        if right is not None and right.document not in needs:
            needs[right.document] = yield from list_needs(right.document)
    wanted = [
        (claim.job, key)
        for claim, right in zip(claims, rights, strict=True)
        if claim.job and right is not None
        for key in needs[right.document]
    ]
    rows = yield from job_promises.list_of_keys(list(dict.fromkeys(wanted)))
    promised = {(row.owner, row.key) for row in rows}
    for claim, right in zip(claims, rights, strict=True):
        if right is None:
            states.append(None)
            continue
        watched = [
            _Watched(JOB, claim.job, key)
            if (claim.job, key) in promised
            else _Watched(ENVIRONMENT, right.environment, key)
            for key in needs[right.document]
        ]
        own = set(watched)
        states.append(_State(right, watched, [row for row in rows if _Watched(JOB, row.owner, row.key) in own]))
    return states


def _read_state(claims: Sequence[NeedClaim]) -> Transaction[list[_State | None]]:
    """The whole state of each claim."""
    states = yield from _read_keys(claims)
    standing = {each[1:] for state in states if state for each in state.watched if each.kind == ENVIRONMENT}
    by_key: dict[tuple[str, ...], list[ValueRow]] = {}
    for row in (yield from standing_values.list_of_keys(sorted(standing))):
        by_key.setdefault((row.owner, row.key), []).append(row)
    return [
        state
        and state._replace(
            rows=state.rows
            + [row for each in state.watched if each.kind == ENVIRONMENT for row in by_key.get(each[1:], ())]
        )
        for state in states
    ]


def _read_changed(
    changed: Sequence[ValueKey], claims: Sequence[NeedClaim]
) -> Transaction[tuple[list[ValueRow], list[NeedRight | None]]]:
    rows: list[ValueRow] = []
    for kind, table in ((ENVIRONMENT, standing_values), (JOB, job_promises)):
        own = [value for value in changed if value.kind == kind]
        whole = sorted({(value.owner, value.key) for value in own if not value.node})
        known = set(whole)
        exact = sorted((value.owner, value.key, value.node) for value in own if value.node and value[1:3] not in known)
        rows += yield from table.list_of_keys(whole)
        rows += yield from table.find_exact(exact)
    rights = (yield from find_need_rights(claims)) if claims else []
    return rows, rights


def _read_numbers(keys: Sequence[_Watched]) -> Transaction[dict[_Watched, dict[str, int]]]:
    """The numbers of the values of keys, by key and node."""
    found: dict[_Watched, dict[str, int]] = {}
    for kind, table in ((ENVIRONMENT, standing_values), (JOB, job_promises)):
        for owner, key, node, number in (
            yield from table.list_numbers([each[1:] for each in keys if each.kind == kind])
        ):
            found.setdefault(_Watched(kind, owner, key), {})[node] = number
    return found


def _find_gone(watched: _Watched, changed: Sequence[ValueKey], values: Sequence[KeyValue]) -> set[str] | None:
    """The nodes whose standing value was read and does not exist; None if all nodes were read."""
    nodes = {value.node for value in changed if value[:3] == watched}
    return None if "" in nodes else nodes - {value.node for value in values}


def _ended(
    subscription: Subscription, watched: _Watched, gone: set[str] | None, values: Sequence[KeyValue]
) -> list[KeyValue]:
    """Standing values that the subscriber was sent and that no longer exist."""
    if watched.kind != ENVIRONMENT:
        return []
    present = {value.node for value in values}
    names = [
        (key, node)
        for key, node in subscription.sent
        if key == watched.key and (node not in present if gone is None else node in gone)
    ]
    return [
        KeyValue(
            key,
            node,
            "failed",
            subscription.sent.pop((key, node)) + 1,
            reason="it has no value any more",
            is_standing=True,
        )
        for key, node in names
    ]


def _tell(row: ValueRow, value: bytes | None, now: datetime) -> KeyValue:
    left_s = None if row.expires_at is None else (row.expires_at - now).total_seconds()
    if left_s is not None and left_s <= 0:
        return KeyValue(
            row.key, row.node, "failed", row.number, reason="its value has expired", is_standing=row.is_standing
        )
    return KeyValue(
        row.key,
        row.node,
        row.state,  # type: ignore[arg-type] # the column has these words only
        row.number,
        msgspec.UNSET if value is None else msgspec.Raw(value),
        row.value is not None and row.value.is_sensitive,
        row.expires_at,
        left_s,
        row.reason,
        row.is_standing,
    )


def _split(subscription: Subscription, values: Sequence[KeyValue], *, is_last: bool = True) -> list[Values]:
    """Messages of bounded size; with `is_last` the last one ends the whole answer."""
    groups: list[list[KeyValue]] = [[]]
    size = 0
    for value in values:
        length = len(memoryview(value.value)) if value.value is not msgspec.UNSET else 0
        length += len(value.key) + len(value.node) + len(value.reason) + 200
        if groups[-1] and size + length > MESSAGE_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(value)
        size += length
    catalog, order = subscription.claim.digest, subscription.order
    return [Values(catalog, group, order, is_last and group is groups[-1]) for group in groups]
