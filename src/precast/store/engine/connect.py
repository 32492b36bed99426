"""Opens a database by its location. The PostgreSQL driver is imported only when it is needed."""

import logging
from pathlib import Path

from precast.base.clock import AnchoredClock, Clock, SystemClock, from_micros
from precast.base.ids import TimeOrderedIds
from precast.store import issues
from precast.store.engine import durability, postgres_tls
from precast.store.engine.database import Database
from precast.store.engine.local_wakeups import LocalWakeups
from precast.store.engine.location import Location, PostgresLocation
from precast.store.engine.sqlite import SqliteEngine
from precast.store.engine.wakeups import Wakeups

log = logging.getLogger("precast.store")


async def connect(
    location: Location,
    *,
    may_create: bool = False,
    clock: Clock | None = None,
    wakeup_directory: Path | None = None,
    process_name: str | None = None,
) -> Database:
    """Open the database without looking at its schema.

    If the caller passes no clock, SQLite uses the machine's and PostgreSQL its own, which all servers share. `wakeup_directory`
    is where processes that share a SQLite file wake each other through sockets; PostgreSQL does not need it. `process_name` is for
    the audit log; the default is the name of the host.
    """
    if isinstance(location, PostgresLocation):
        return await _connect_postgres(location, clock, process_name)
    engine = await SqliteEngine.open(location.path, may_create=may_create)
    wakeups = Wakeups() if wakeup_directory is None else LocalWakeups(wakeup_directory)
    return Database(engine, wakeups, clock or SystemClock(), 1, process_name)


async def _connect_postgres(location: PostgresLocation, clock: Clock | None, process_name: str | None) -> Database:
    try:
        from precast.store.engine import postgres, postgres_wakeups
    except ImportError:
        raise issues.NO_DRIVER.error() from None
    if weakness := postgres_tls.find_weakness(location):
        log.warning("the connection to the database %s is not protected: %s", location, weakness)
    engine = await postgres.PostgresEngine.open(location)
    anchored = None
    if clock is None:
        clock = anchored = AnchoredClock(SystemClock(), from_micros(await engine.read(durability.read_now)))
    wakeups = postgres_wakeups.PostgresWakeups(location, TimeOrderedIds(clock).new(), anchored)
    return Database(engine, wakeups, clock, postgres.COMMITTERS, process_name)
