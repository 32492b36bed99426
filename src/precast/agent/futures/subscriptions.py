"""The daemon's half of futures: subscribes to what the local store says, and writes there what servers send.

A session knows nothing of the sessions before it, so each subscription is sent once in every session, and answered by its whole state: that
survives a restart of the daemon, a reconnect and another server. A run of a job adds and removes its own subscription. One that its order
has not outlived was left by a run that was killed, and is removed. The fetch of a catalog adds the one to standing values, if the catalog
needs any; without subscriptions the daemon does nothing.
"""

import logging
from collections.abc import Callable

import msgspec

from precast.agent.futures import value_tables as tables
from precast.agent.futures.key_states import KeyState
from precast.agent.identity.machine import read_boot_id
from precast.agent.state.store import LocalStore
from precast.agent.state.wakeup import wake_listeners
from precast.wire.sessions import KeyValue, Subscribe, Values

log = logging.getLogger("precast.agent")

# A larger value is none that a server has accepted from a node.
MAX_VALUE_BYTES = 65_536


class Subscriptions:
    """The subscriptions of the local store, and which of them the present session has sent."""

    def __init__(self, store: LocalStore, on_standing: Callable[[], None] = lambda: None) -> None:
        """`on_standing` is called when a standing value is new."""
        self._store = store
        self._on_standing = on_standing
        self._boot_id = read_boot_id()
        self._sent: dict[str, str] = {}  # catalogs by attempt

    def begin_session(self) -> None:
        """A session begins: its server knows no subscription."""
        self._sent = {}

    def take_unsent(self) -> list[Subscribe]:
        """The messages that this session has not sent yet; they count as sent."""
        wanted = {found.attempt: found.catalog for found in tables.read_subscriptions(self._store)}
        if wanted == self._sent:
            return []
        if left := tables.find_left_behind(self._store):
            with self._store.transaction() as db:
                for attempt in left:
                    tables.remove_subscription(db, attempt)
                    wanted.pop(attempt, None)
        new = {attempt: catalog for attempt, catalog in wanted.items() if self._sent.get(attempt) != catalog}
        if new:
            with self._store.transaction() as db:
                for attempt in new:
                    tables.begin_round(db, attempt)
        ended = [Subscribe("", attempt) for attempt in self._sent if attempt not in wanted]
        self._sent = wanted
        return [*ended, *(Subscribe(catalog, attempt) for attempt, catalog in new.items())]

    def receive(self, message: Values) -> None:
        """Store the states of a message, and wake the processes that wait for them."""
        subscription = tables.find_subscription(self._store, message.order)
        if subscription is None or subscription.catalog != message.catalog:
            return  # it has ended, or is for another catalog meanwhile
        states = [self._state(value) for value in message.values if _is_sound(value)]
        with self._store.transaction() as db:
            new = tables.receive_states(db, subscription, states)
            ended = tables.end_answer(db, subscription, message.error) if message.is_last or message.error else 0
            is_news = message.order == tables.STANDING and any(state.state == "fulfilled" for state in new)
            if is_news:
                tables.note_news(db)
        if message.error and not subscription.error:
            log.error("the server sends no values for the catalog %s: %s", message.catalog[:12], message.error[:200])
        if new or ended or message.is_last or message.error:
            wake_listeners(self._store.path.parent)
        if is_news:
            self._on_standing()

    def _state(self, value: KeyValue) -> KeyState:
        return KeyState(
            value.key,
            value.node,
            value.state,
            value.number,
            b"" if value.value is msgspec.UNSET else bytes(value.value),
            value.is_sensitive,
            value.expires_at,
            value.left_s,
            self._store.clock.monotonic_s(),
            self._boot_id,
            value.reason[:2_000],
            value.is_standing,
        )


def _is_sound(value: KeyValue) -> bool:
    """Whether a state can be stored: a value that was fulfilled has one, and none is too large."""
    if value.value is msgspec.UNSET:
        return value.state != "fulfilled"
    return len(bytes(value.value)) <= MAX_VALUE_BYTES
