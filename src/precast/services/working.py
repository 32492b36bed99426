"""How every service with a queue works it off: until nothing is left, then asleep until somebody wakes it, or until it is time to look."""

from collections.abc import Awaitable, Callable

from precast.base.errors import PrecastError
from precast.store.engine.database import Database
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import topic


class LostClaim(Exception):
    """Another worker has an item; nothing of ours is stored."""


async def keep_working(database: Database, work_off: Callable[[], Awaitable[int]], *kinds: WorkKind) -> None:
    """Work off what comes of these kinds, for ever; `work_off` says how much it was.

    A database that is away is waited for. Cancelling is safe: what was claimed is anyone's when its lease ends.
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
