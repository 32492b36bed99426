"""The loop of every service that processes a work queue: it runs until the queue is empty, then sleeps until a wake-up or a timeout."""

from collections.abc import Awaitable, Callable

from precast.base.errors import PrecastError
from precast.store.engine.database import Database
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import topic


class LostClaim(Exception):
    """Another worker has claimed the item, so our transaction is rolled back."""


async def run_worker(database: Database, work_off: Callable[[], Awaitable[int]], *kinds: WorkKind) -> None:
    """Process items of these kinds for ever; `work_off` processes some and returns how many.

    While the database is unavailable, the loop retries. Cancelling is safe: claimed items become free when their lease expires.
    """
    with database.wakeups.subscribe(*(topic(kind.name) for kind in kinds)) as sleeper:
        while True:
            try:
                is_idle = not await work_off()
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                is_idle = True
            if is_idle:
                await sleeper.wait()
