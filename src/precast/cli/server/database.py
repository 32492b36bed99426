"""The database that a command opens by itself, and the file of a database that a command creates."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from precast.base.files import new_file
from precast.store import issues
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location, SqliteLocation


@asynccontextmanager
async def opened_at(at: Location, *, may_create: bool = False) -> AsyncIterator[Database]:
    database = await connect(at, may_create=may_create)
    try:
        yield database
    except asyncio.CancelledError:
        # Ctrl-C: do not wait for a lock any longer. Uncommitted changes are lost.
        await database.abandon()
        raise
    finally:
        await database.close()


@contextmanager
def new_if_missing(target: Location) -> Iterator[Location]:
    """The database to restore into. A new file gets its name only when it is complete: a failure leaves no file behind, and a
    database that another process creates meanwhile is not overwritten."""
    if not isinstance(target, SqliteLocation) or os.path.lexists(target.path):
        yield target
        return
    try:
        with new_file(target.path) as draft:
            log, index = (Path(f"{draft}{suffix}") for suffix in ("-wal", "-shm"))
            try:
                yield SqliteLocation(draft)
                if log.exists():
                    raise issues.IO_FAILED.error(location=target, reason="its log could not be written into the file")
            finally:
                log.unlink(missing_ok=True)
                index.unlink(missing_ok=True)
    except FileExistsError:
        raise issues.NOT_EMPTY.error(location=target, table="another process has created it") from None
    except OSError as error:
        raise issues.CANNOT_OPEN.error(location=target, reason=error.strerror) from error
