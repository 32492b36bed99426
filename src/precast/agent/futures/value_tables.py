"""The tables of futures in the local store: subscriptions, the states that servers have sent, values that were bound, own promises.

Every function is part of the caller's transaction, or one query. The daemon writes what servers send, a run reads it. A subscription
without an attempt is to the standing values of the environment, for the cached catalog; each run of a job has one of its own while it
waits. A state leaves the node with its subscription, a bound value with the catalog that it was bound for.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from precast.agent.futures.key_states import KeyState, Moment
from precast.agent.state.store import LocalStore
from precast.base.clock import from_optional_micros, to_micros

# What a run outside of jobs has in place of an attempt.
STANDING = ""


class Subscription(NamedTuple):
    """A subscription: which catalog it is for, and how far it has been answered."""

    attempt: str
    catalog: str
    round: int = 0  # how often it was sent to a server
    is_answered: bool = False  # once it was answered as a whole
    error: str = ""  # why a server has refused it


class OwnPromise(NamedTuple):
    """What this node has promised last under a key, and in which attempt. The value of a sensitive one is a digest."""

    state: KeyState
    scope: str
    attempt: str


def add_subscription(db: sqlite3.Connection, attempt: str, catalog: str) -> bool:
    """Add a subscription; one for another catalog is replaced, with what was received for it. Returns whether anything has changed."""
    if db.execute("SELECT 1 FROM subscription WHERE attempt = ? AND catalog = ?", (attempt, catalog)).fetchone():
        return False
    remove_subscription(db, attempt)
    db.execute("INSERT INTO subscription (attempt, catalog) VALUES (?, ?)", (attempt, catalog))
    return True


def remove_subscription(db: sqlite3.Connection, attempt: str) -> bool:
    """Remove a subscription with all that was received for it. Returns whether there was one."""
    db.execute("DELETE FROM received_value WHERE attempt = ?", (attempt,))
    return bool(db.execute("DELETE FROM subscription WHERE attempt = ?", (attempt,)).rowcount)


def read_subscriptions(store: LocalStore) -> list[Subscription]:
    rows = store.read("SELECT attempt, catalog, round, is_answered, error FROM subscription ORDER BY attempt")
    return [Subscription(attempt, catalog, sent, bool(done), error) for attempt, catalog, sent, done, error in rows]


def find_subscription(store: LocalStore, attempt: str) -> Subscription | None:
    return next((found for found in read_subscriptions(store) if found.attempt == attempt), None)


def follow_catalog(db: sqlite3.Connection, catalog: str) -> bool:
    """Subscribe to the standing values of the cached catalog, or to none if it is empty, which means that it needs no values.

    Values that were bound for another catalog leave the node. Returns whether the subscription has changed.
    """
    db.execute("DELETE FROM bound_value WHERE catalog != ?", (catalog,))
    return add_subscription(db, STANDING, catalog) if catalog else remove_subscription(db, STANDING)


def find_left_behind(store: LocalStore) -> list[str]:
    """The attempts whose run has left a subscription behind: their orders have ended."""
    rows = store.read(
        "SELECT attempt FROM subscription WHERE attempt != '' AND attempt NOT IN (SELECT id FROM queued_order)"
    )
    return [attempt for (attempt,) in rows]


def note_news(db: sqlite3.Connection) -> None:
    """Note that a standing value is new: the cached catalog needs it."""
    db.execute("UPDATE subscription SET news = news + 1 WHERE attempt = ''")


def read_news(store: LocalStore) -> int:
    """The number of the newest standing value that no run of the cached catalog has used; 0 if there is none.

    A value that a run of a job was given meanwhile is used.
    """
    rows = store.read(
        "SELECT news FROM subscription s WHERE attempt = '' AND news > used AND EXISTS (SELECT 1 FROM received_value r"
        " WHERE r.attempt = '' AND r.state = 'fulfilled' AND NOT EXISTS (SELECT 1 FROM bound_value b"
        " WHERE b.catalog = s.catalog AND b.key = r.key AND b.node = r.node AND b.value = r.value))"
    )
    return int(rows[0][0]) if rows else 0


def note_used(db: sqlite3.Connection, news: int) -> None:
    """Note that a run of the cached catalog has had the chance to use the standing values until then."""
    db.execute("UPDATE subscription SET used = max(used, ?) WHERE attempt = ''", (news,))


def begin_round(db: sqlite3.Connection, attempt: str) -> None:
    """Note that a subscription is sent to a server, whose answer will name every key that has a state."""
    db.execute("UPDATE subscription SET round = round + 1 WHERE attempt = ?", (attempt,))


def receive_states(db: sqlite3.Connection, subscription: Subscription, states: Iterable[KeyState]) -> list[KeyState]:
    """Store states that a server has sent. Returns those that are new: an older message never replaces a newer state."""
    return [state for state in states if _receive(db, subscription, state)]


def _receive(db: sqlite3.Connection, subscription: Subscription, state: KeyState) -> bool:
    name = (subscription.attempt, state.key, state.node)
    known = db.execute(
        "SELECT number, state, is_standing FROM received_value WHERE attempt = ? AND key = ? AND node = ?", name
    ).fetchone()
    if known is not None and known[0] > state.number:
        db.execute(
            "UPDATE received_value SET round = ? WHERE attempt = ? AND key = ? AND node = ?",
            (subscription.round, *name),
        )
        return False
    db.execute(
        "INSERT OR REPLACE INTO received_value (attempt, key, node, round, number, state, value, is_sensitive, expires_at, left_s,"
        " received_s, boot_id, reason, is_standing) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (subscription.attempt, state.key, state.node, subscription.round, *_columns(state)),
    )
    return known is None or tuple(known) != (state.number, state.state, state.is_standing)


def end_answer(db: sqlite3.Connection, subscription: Subscription, error: str) -> int:
    """Note that a subscription was answered as a whole: what the answer did not name has no state. Returns how many states ended."""
    name = (subscription.attempt, subscription.round)
    ended = 0
    if not error:
        ended = db.execute("DELETE FROM received_value WHERE attempt = ? AND round < ?", name).rowcount
    db.execute(
        "UPDATE subscription SET is_answered = 1, error = ? WHERE attempt = ?", (error[:1_000], subscription.attempt)
    )
    return ended


def read_states(store: LocalStore, attempt: str, key: str | None = None) -> list[KeyState]:
    """The states that were received for a subscription, of one key or of all."""
    sql = f"SELECT {_COLUMNS} FROM received_value WHERE attempt = ?"  # noqa: S608 - names of columns
    rows = store.read(sql + ("" if key is None else " AND key = ?"), (attempt,) if key is None else (attempt, key))
    return [_state(row) for row in rows]


def read_bound(store: LocalStore, catalog: str) -> list[KeyState]:
    """The values that this node was given last for a catalog."""
    sql = f"SELECT {_COLUMNS} FROM bound_value WHERE catalog = ?"  # noqa: S608 - names of columns
    return [_state(row) for row in store.read(sql, (catalog,))]


def put_bound(db: sqlite3.Connection, catalog: str, key: str, states: Sequence[KeyState]) -> None:
    """Replace the values that this node was given last for a key of a catalog."""
    db.execute("DELETE FROM bound_value WHERE catalog = ? AND key = ?", (catalog, key))
    for state in states:
        db.execute(
            "INSERT INTO bound_value (catalog, key, node, number, state, value, is_sensitive, expires_at, left_s, received_s,"
            " boot_id, reason, is_standing) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (catalog, key, state.node, *_columns(state)),
        )


def expire(db: sqlite3.Connection, moment: Moment, states: Iterable[KeyState]) -> None:
    """Delete the values of states that were found to be expired. They stay so, whatever clocks say later, until they are sent again."""
    for state in states:
        if state.is_expired(moment) and not state.has_expired:
            for table in ("received_value", "bound_value"):
                db.execute(
                    f"UPDATE {table} SET value = x'', has_expired = 1 WHERE key = ? AND node = ? AND number = ?",  # noqa: S608
                    (state.key, state.node, state.number),
                )


def read_own(store: LocalStore) -> list[OwnPromise]:
    """What this node has promised last, by key."""
    return [_own(row) for row in store.read(f"SELECT {_OWN} FROM promise ORDER BY key")]  # noqa: S608 - names of columns


def find_own(db: sqlite3.Connection, key: str) -> OwnPromise | None:
    rows = db.execute(f"SELECT {_OWN} FROM promise WHERE key = ?", (key,)).fetchall()  # noqa: S608 - names of columns
    return _own(rows[0]) if rows else None


def put_own(db: sqlite3.Connection, own: OwnPromise, at: int) -> None:
    """Store what this node promises now."""
    state = own.state
    db.execute(
        f"INSERT OR REPLACE INTO promise ({_OWN}, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - names of columns
        (
            state.key,
            state.value,
            state.is_sensitive,
            own.scope,
            own.attempt,
            None if state.expires_at is None else to_micros(state.expires_at),
            state.left_s,
            state.received_s,
            state.boot_id,
            at,
        ),
    )


def _own(row: tuple[Any, ...]) -> OwnPromise:
    key, value, is_sensitive, scope, attempt, expires_at, left_s, received_s, boot_id = row
    expires = from_optional_micros(expires_at)
    state = KeyState(key, "", "fulfilled", 0, value, bool(is_sensitive), expires, left_s, received_s, boot_id)
    return OwnPromise(state, scope, attempt)


_OWN = "key, value, is_sensitive, scope, attempt, expires_at, left_s, received_s, boot_id"
_COLUMNS = (
    "key, node, state, number, value, is_sensitive, expires_at, left_s, received_s, boot_id, reason, is_standing,"
    " has_expired"
)


def _columns(state: KeyState) -> tuple[object, ...]:
    """The values of the columns after the name of a row."""
    return (
        state.number,
        state.state,
        state.value,
        state.is_sensitive,
        None if state.expires_at is None else to_micros(state.expires_at),
        state.left_s,
        state.received_s,
        state.boot_id,
        state.reason,
        state.is_standing,
    )


def _state(row: tuple[Any, ...]) -> KeyState:
    (
        key,
        node,
        state,
        number,
        value,
        is_sensitive,
        expires_at,
        left_s,
        received_s,
        boot_id,
        reason,
        standing,
        expired,
    ) = row
    return KeyState(
        key,
        node,
        state,
        number,
        value,
        bool(is_sensitive),
        from_optional_micros(expires_at),
        left_s,
        received_s,
        boot_id,
        reason,
        bool(standing),
        bool(expired),
    )
