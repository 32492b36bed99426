"""The state of secret sources as numbers for monitoring: read from the database, so that every server shows the same."""

import asyncio

from precast.base.errors import PrecastError
from precast.store.engine.database import Database
from precast.store.secrets.source_documents import count_failed_documents

READ_EVERY_S = 15.0


class SecretMeters:
    """The numbers as they were read last."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.failed = 0

    async def run(self) -> None:
        """Read the numbers for ever; while the database is unavailable, they stay as they are."""
        while True:
            try:
                self.failed = await self._database.read(count_failed_documents)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
            await asyncio.sleep(READ_EVERY_S)
