"""Opens the server's database, expands its schema, and closes it at the end."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from precast.app.settings import ServerSettings

if TYPE_CHECKING:
    from precast.store.engine.database import Database


@asynccontextmanager
async def opened(
    settings: ServerSettings, *, may_create: bool = True, room: Path | None = None, number: int | None = None
) -> "AsyncIterator[Database]":
    """The open database. `number` is that of this process among the workers of one server.

    Raises NotFoundError STORE-002 if it does not exist and `may_create` is false.
    """
    from precast.store.engine import location
    from precast.store.engine.connect import connect
    from precast.store.schema.schema import Schema

    name = socket.gethostname() if number is None else f"{socket.gethostname()}/{number}"
    database = await connect(
        location.parse(settings.location), may_create=may_create, wakeup_directory=room, process_name=name
    )
    try:
        await Schema(database).expand()
        yield database
    finally:
        await database.close()
