"""Opens the server's database, expands its schema, and closes it at the end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from precast.app.settings import ServerSettings

if TYPE_CHECKING:
    from precast.store.engine.database import Database


@asynccontextmanager
async def opened(
    settings: ServerSettings, *, may_create: bool = True, room: Path | None = None
) -> "AsyncIterator[Database]":
    """The open database. Raises NotFoundError STORE-002 if it does not exist and `may_create` is false."""
    from precast.store.engine import location
    from precast.store.engine.connect import connect
    from precast.store.schema.schema import Schema

    database = await connect(location.parse(settings.location), may_create=may_create, wakeup_directory=room)
    try:
        await Schema(database).expand()
        yield database
    finally:
        await database.close()
