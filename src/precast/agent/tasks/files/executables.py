"""Files of the environment that tasks run: fetched once, named by their digests, for root alone.

A file is verified before each use, so a changed one is fetched again. One that no task has used for long is deleted.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from precast.agent.issues import CANNOT_KEEP, NOT_AS_NAMED
from precast.agent.state import paths
from precast.agent.tasks.context import TaskContext
from precast.agent.tasks.files.server_content import ServerContent
from precast.base import digests

DIRECTORY = paths.STATE / paths.TASK_CONTENT / "executables"
KEPT = timedelta(days=30)


def fetch_executable(context: TaskContext, digest: str) -> Path:
    """The file with this digest, which only root may read and run.

    Raises NotFoundError AGENT-062 if the task may not have it, DeniedError AGENT-017 if what the server sends does not have the digest,
    UnavailableError AGENT-004 if it cannot be stored, AGENT-063 if no server answers before the deadline, AGENT-064.
    """
    if not digests.is_digest(digest):
        raise NOT_AS_NAMED.error(what="a file of the environment", digest=digest[:80])
    directory = context.root / DIRECTORY
    path = directory / digest
    try:
        _delete_old(directory, context.store.clock.now())
        if not _is_cached(path):
            path.unlink(missing_ok=True)
            with ServerContent(context) as server:
                server.fetch(digest, directory)
        path.chmod(0o700)
        os.utime(path)
    except OSError as error:
        raise CANNOT_KEEP.error(path=path, reason=error.strerror or error) from None
    return path


def _is_cached(path: Path) -> bool:
    return path.is_file() and digests.of_bytes(path.read_bytes()) == path.name


def _delete_old(directory: Path, now: datetime) -> None:
    for path in directory.iterdir() if directory.is_dir() else ():
        if datetime.fromtimestamp(path.stat().st_mtime, UTC) < now - KEPT:
            path.unlink()
