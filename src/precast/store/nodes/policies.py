"""The policies of nodes: what operators allow their agents to do by themselves.

The signer chooses the serial from the current time, so it only grows, even for a node that was deleted and enrols again. An agent accepts
no policy with a lower serial than the one it has, so it never misses a new one.
"""

from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.catalogs.released import RELEASED_TOPIC
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction, Wake

SET = Query(
    "policies.set",
    """
    INSERT INTO node_policy (node, serial, enforce, windows, set_by, set_at, seal)
    VALUES (:node, :serial, :enforce, :windows, :actor, :now, :seal)
    ON CONFLICT (node) DO UPDATE SET
        serial = excluded.serial, enforce = excluded.enforce, windows = excluded.windows, set_by = excluded.set_by,
        set_at = excluded.set_at, seal = excluded.seal
    WHERE (node_policy.enforce <> excluded.enforce OR node_policy.windows <> excluded.windows)
        AND node_policy.serial < excluded.serial
    RETURNING serial
    """,
)
SHOW = Query(
    "policies.show", "SELECT node, serial, enforce, windows, set_by, set_at, seal FROM node_policy WHERE node = :node"
)
SET_SINCE = Query(
    "policies.set_since",
    "SELECT node, serial FROM node_policy WHERE set_at >= :since ORDER BY set_at, node LIMIT :limit",
)
DELETE = Query("policies.delete", "DELETE FROM node_policy WHERE node = :node")
MANY = 100_000


class StoredPolicy(msgspec.Struct, frozen=True):
    """A node's policy. Its windows are texts, as operators write them."""

    node: str
    serial: int
    enforce: str
    windows: list[str]
    set_by: str
    set_at: datetime
    seal: bytes  # of the signer


class Policies:
    """The policies of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set_policy(
        self, node: str, serial: int, enforce: str, windows: list[str], seal: bytes, actor: str
    ) -> Transaction[bool]:
        """Set a node's policy; False if it has this policy already, or one with a higher serial."""
        now = to_micros(self._database.clock.now())
        words = msgspec.json.encode(windows).decode()
        rows = yield SET(node=node, serial=serial, enforce=enforce, windows=words, seal=seal, actor=actor, now=now)
        if rows:
            yield Wake(RELEASED_TOPIC)
        return bool(rows)

    def find(self, node: str) -> Transaction[StoredPolicy | None]:
        for name, serial, enforce, windows, actor, at, seal in (yield SHOW(node=node)):
            words = msgspec.json.decode(windows, type=list[str])
            return StoredPolicy(name, serial, enforce, words, actor, from_micros(at), bytes(seal))
        return None

    def list_set_since(self, since: datetime) -> Transaction[dict[str, int]]:
        """Return the serials of the policies that were set since a time, by node."""
        return dict((yield SET_SINCE(since=to_micros(since), limit=MANY)))


def delete_policy(node: str) -> Transaction[None]:
    """Delete a node's policy."""
    yield DELETE(node=node)
