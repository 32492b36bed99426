"""What a database says about itself to whoever looks after it."""

from typing import NamedTuple

from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction

REPLICAS = Query(
    "health.replicas",
    """
    -- How many copies there are, and how far the slowest is behind; unknown without the rights to see it.
    SELECT count(*), EXTRACT(EPOCH FROM max(replay_lag)) FROM pg_stat_replication
    """,
)


class Replicas(NamedTuple):
    """Copies of the database."""

    number: int
    behind_s: float | None


async def replicas(database: Database) -> Replicas:
    """None for SQLite: whoever copies its file is not known to it."""
    if database.dialect is Dialect.SQLITE:
        return Replicas(0, None)
    return await database.read(_reading)


def _reading() -> Transaction[Replicas]:
    ((count, behind),) = yield REPLICAS()
    return Replicas(count, None if behind is None else float(behind))
