"""Sends files of this node to the server, for the nodes that copy them.

A file is first copied to a temporary file, so that what is sent is what was digested, also if the file changes meanwhile.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import msgspec

from precast.agent.issues import CANNOT_KEEP
from precast.agent.state.paths import make_state_directory
from precast.agent.tasks.context import StepOutcome, TaskContext
from precast.agent.tasks.files import issues
from precast.agent.tasks.files.outcomes import succeeded
from precast.agent.tasks.files.server_content import ServerContent
from precast.resources.files import modes, safe_reads
from precast.resources.files.checksums import PIECE_BYTES
from precast.resources.files.safe_paths import ParentCache
from precast.wire.jobs.orders import MAX_RESULT_CHARS
from precast.wire.jobs.programs import CollectWork
from precast.wire.plans.task_content import MAX_CONTENT_BYTES, CollectedFile

# A larger file is not copied in memory.
MAX_MEMORY_BYTES = 1024 * 1024


def collect_files(context: TaskContext, work: CollectWork) -> StepOutcome:
    """Send the files. The result has the digest, mode and size of each, by its path.

    Raises NotFoundError AGENT-050, InputError AGENT-051 to AGENT-054, DeniedError RESOURCE-109, RESOURCE-117 and RESOURCE-126 for a file
    that another user may have put there, UnavailableError AGENT-055, AGENT-063, AGENT-064, and the server's error.
    """
    parents = safe_reads.root_parents(str(context.root))
    paths = list(dict.fromkeys(work.paths))
    for path in paths:  # nothing is sent if one of them is missing
        _check_source(parents, path)
    collected: dict[str, CollectedFile] = {}
    with ServerContent(context) as server:
        for path in paths:
            if context.must_stop():
                raise issues.STOPPED.error()
            with _copied(context, parents, path) as (file, found):
                if found.digest not in {known.digest for known in collected.values()}:
                    server.send(found.digest, file, found.size)
            collected[path] = found
            if len(msgspec.json.encode(collected)) > MAX_RESULT_CHARS:
                raise issues.RESULT_TOO_LARGE.error(count=len(paths))
            context.say(f"{path}: collected, {found.size} bytes")
    return succeeded(collected)


def _check_source(parents: ParentCache, path: str) -> os.stat_result:
    """The status of a file that can be collected. Raises NotFoundError AGENT-050, InputError AGENT-051 to AGENT-053."""
    if not path.startswith("/") or not path.isprintable():
        raise issues.NO_SOURCE.error(path=repr(path[:200]))
    try:
        status = safe_reads.find_status(parents, path, is_followed=True)
    except OSError as error:
        raise issues.CANNOT_READ.error(path=path, reason=error.strerror or error) from None
    if status is None:
        raise issues.NO_SOURCE.error(path=path)
    if stat.S_ISDIR(status.st_mode):
        raise issues.SOURCE_IS_DIRECTORY.error(path=path)
    if not stat.S_ISREG(status.st_mode):
        raise issues.NOT_REGULAR.error(path=path)
    if status.st_size > MAX_CONTENT_BYTES:
        raise issues.SOURCE_TOO_LARGE.error(path=path, size=status.st_size, limit=MAX_CONTENT_BYTES)
    return status


@contextmanager
def _copied(context: TaskContext, parents: ParentCache, path: str) -> Iterator[tuple[IO[bytes], CollectedFile]]:
    """A copy of a file, for a block, and what it is."""
    _check_source(parents, path)
    with tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES, dir=str(make_state_directory(context.root))) as copy:
        try:
            with safe_reads.open_file(parents, path, is_followed=True) as (handle, status):
                digest = _copy(handle, path, copy)
        except FileNotFoundError:
            raise issues.NO_SOURCE.error(path=path) from None
        except OSError as error:
            raise issues.CANNOT_READ.error(path=path, reason=error.strerror or error) from None
        yield copy, CollectedFile(digest, modes.format_mode(status.st_mode & 0o777), copy.tell())


def _copy(handle: int, path: str, copy: IO[bytes]) -> str:
    digest = hashlib.sha256()
    with safe_reads.BoundedFile(os.dup(handle), path, MAX_CONTENT_BYTES) as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            try:
                copy.write(piece)
            except OSError as error:
                raise CANNOT_KEEP.error(path="a copy of it", reason=error.strerror or error) from None
    return digest.hexdigest()
