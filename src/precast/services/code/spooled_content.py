"""Content that arrives in parts: spooled to an unnamed temporary file, verified there, then stored a few chunks at a time.

Only content whose digest was verified enters the database, so no client can store wrong content under a digest. The temporary file
disappears with its process.
"""

import contextlib
import hashlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from precast.services.code import issues
from precast.store.code.blobs import CHUNK_BYTES, Blobs
from precast.store.engine.database import Database

# Chunks in one transaction: few enough that other writers do not wait long.
CHUNK_BATCH = 4


@contextlib.asynccontextmanager
async def spooled(parts: AsyncIterator[bytes], digest: str, spool: Path) -> AsyncIterator[IO[bytes]]:
    """The parts as a temporary file, for a block, once its digest was verified.

    Raises InputError ENV-010 for another digest, UnavailableError ENV-015 if the file cannot be written or read.
    """
    try:
        with tempfile.TemporaryFile(dir=spool) as file:
            found = hashlib.sha256()
            async for part in parts:
                found.update(part)
                file.write(part)
            if found.hexdigest() != digest:
                raise issues.WRONG_CONTENT.error(digest=digest)
            file.seek(0)
            yield file
    except OSError as error:
        raise issues.NO_DISK_SPACE.error(place=spool, reason=error.strerror or error) from None


async def store_file(database: Database, blobs: Blobs, digest: str, size: int, file: IO[bytes]) -> None:
    """Store verified content. Stored content stays as it is, after the same statements.

    Raises InputError ENV-012 if a part of it was deleted meanwhile. Cancelling leaves it stored completely or not at all.
    """
    await database.write(blobs.begin, digest, size)
    count = 0
    while chunks := [chunk for _ in range(CHUNK_BATCH) if (chunk := file.read(CHUNK_BYTES))]:
        await database.write(blobs.add_chunks, digest, count, chunks)
        count += len(chunks)
    if not await database.write(blobs.finish, digest, count):
        raise issues.CONTENT_INCOMPLETE.error(reason="a part of it was deleted as unreferenced in the meantime")
