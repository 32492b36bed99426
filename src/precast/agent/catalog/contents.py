"""Brings the contents that a catalog names, checked by digest. One that is cut off goes on where it stopped, now or at the next fetch.

What has come of a content lies beside its place under a name of its own; it gets its name when all of it is there and has the
digest it should have.
"""

import hashlib
import os
import ssl
from pathlib import Path

from precast.agent import issues
from precast.base import digests, https
from precast.base.errors import UnavailableError
from precast.base.files import name_flushed

# A content that is cut off is gone on with so often; each time something must have come.
TRIES = 5
_PART = ".part"
_PARTIAL, _NOT_SATISFIABLE = 206, 416


def keep_contents(directory: Path, wanted: list[str], url: str, context: ssl.SSLContext) -> int:
    """Bring what is not there; how many it was. Names are digests, so nothing else can be reached by them.

    Raises what the server says, UnavailableError HTTP-002 if it does not come to its end, DeniedError AGENT-017 for one that is
    not what it should be.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    count = 0
    for digest in sorted(set(wanted)):
        if not digests.is_digest(digest):
            raise issues.NOT_AS_NAMED.error(what="a content", digest=digest[:80])
        if not (directory / digest).is_file():
            _bring(directory, digest, url, context)
            count += 1
    return count


def _bring(directory: Path, digest: str, url: str, context: ssl.SSLContext) -> None:
    part = directory / (digest + _PART)
    for left in reversed(range(TRIES)):
        had = part.stat().st_size if part.is_file() else 0
        try:
            _go_on(part, digest, url, context, had)
        except UnavailableError:
            if not left or part.stat().st_size <= had:
                raise
            continue
        if _digest(part) == digest:
            name_flushed(part, directory / digest)
            return
        part.unlink()
        if not had:
            break
        # What had come before was not of this content: once more from its beginning.
    raise issues.NOT_AS_NAMED.error(what="a content", digest=digest)


def _go_on(part: Path, digest: str, url: str, context: ssl.SSLContext, had: int) -> None:
    """Append what is missing; begin anew if the server gives no parts. If nothing is missing, the file stays as it is."""
    headers = {"Range": f"bytes={had}-", "If-Range": f'"{digest}"'} if had else {}
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:

        def begin(status: int) -> bool:
            if status >= 400:
                return False
            file.seek(had if status == _PARTIAL else 0)
            file.truncate()
            return True

        came = https.download(url, context, f"/v1/content/{digest}", file, begin, headers=headers)
    if came.status >= 400 and came.status != _NOT_SATISFIABLE:
        https.read_answer(url, came, dict)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
