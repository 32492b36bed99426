"""Who may change a node: one row for the attempt that does, so that two jobs never change a node at the same time."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction, json_list
from precast.store.jobs import queries as queries
from precast.store.jobs.attempts import AttemptKey


class LockHolder(NamedTuple):
    """The attempt that may change a node, and since when."""

    key: AttemptKey
    since: datetime


class NodeLocks:
    """The locks of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, key: AttemptKey) -> Transaction[bool]:
        """Take the lock of a node for an attempt; False if another attempt has it."""
        while True:
            if (yield queries.LOCK_NODE(**key._asdict(), since=to_micros(self._database.clock.now()))):
                return True
            for job, task, n in (yield queries.KEEP_HOLDER(node=key.node)):
                return AttemptKey(job, task, key.node, n) == key

    def release(self, key: AttemptKey) -> Transaction[bool]:
        """Release the lock if this attempt has it; whether it had it."""
        return bool((yield queries.UNLOCK_NODE(**key._asdict())))

    def find_holder(self, node: str) -> Transaction[LockHolder | None]:
        rows = yield queries.HOLDER(node=node)
        if not rows:
            return None
        job, task, n, since = rows[0]
        return LockHolder(AttemptKey(job, task, node, n), from_micros(since))

    def find_holders(self, nodes: Sequence[str]) -> Transaction[dict[str, LockHolder]]:
        """Find the attempts that may change these nodes."""
        rows = yield queries.HOLDERS(nodes=json_list(nodes))
        return {
            node: LockHolder(AttemptKey(job, task, node, n), from_micros(since)) for node, job, task, n, since in rows
        }

    def list_stale(self, limit: int) -> Transaction[list[AttemptKey]]:
        """List the holders of locks that are not picked up: their locks would never be released."""
        rows = yield queries.STALE_LOCKS(limit=limit)
        return [AttemptKey(job, task, node, n) for node, job, task, n in rows]

    def count(self) -> Transaction[int]:
        """Count the nodes that an attempt may change now."""
        ((count,),) = yield queries.COUNT_LOCKS()
        return int(count)
