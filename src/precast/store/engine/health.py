"""What a database reports about itself to its operator."""

from typing import NamedTuple

from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction

REPLICAS = Query(
    "health.replicas",
    """
    -- The number of replicas, and the lag of the slowest; the lag is NULL without the rights to see it.
    SELECT count(*), EXTRACT(EPOCH FROM max(replay_lag)) FROM pg_stat_replication
    """,
)


class Replicas(NamedTuple):
    """Replicas of the database."""

    number: int
    behind_s: float | None


async def read_replicas(database: Database) -> Replicas:
    """Count the replicas. SQLite always has 0: it does not know which programs copy its file."""
    if database.dialect is Dialect.SQLITE:
        return Replicas(0, None)
    return await database.read(_read_replicas)


def _read_replicas() -> Transaction[Replicas]:
    ((count, behind),) = yield REPLICAS()
    return Replicas(count, None if behind is None else float(behind))
