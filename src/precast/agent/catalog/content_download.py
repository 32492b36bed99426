"""Downloads the contents that a catalog or a task names and checks their digests.

An interrupted download resumes, now or at the next fetch. A partial download has a name of its own. The file is renamed when it is
complete and has the right digest.
"""

import hashlib
import os
from pathlib import Path

from precast.agent import issues
from precast.agent.network.http_client import HttpClient
from precast.base import digests, https
from precast.base.errors import UnavailableError
from precast.base.files import rename_flushed

# How often the download of a content is resumed; each attempt must have received something.
TRIES = 5
_PART = ".part"
_ROUTE = "/v1/content"
_PARTIAL, _NOT_SATISFIABLE = 206, 416


def download_contents(directory: Path, named: list[str], url: str, client: HttpClient, route: str = _ROUTE) -> int:
    """Download the contents that are missing, and return their count. File names are digests, so no other path can be written.

    `route` is the path of the server's route, without the digest.

    Raises the server's error, UnavailableError HTTP-002 if a download cannot be completed, DeniedError AGENT-017 for a content that
    does not have its digest.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    count = 0
    for digest in sorted(set(named)):
        if not digests.is_digest(digest):
            raise issues.NOT_AS_NAMED.error(what="a content", digest=digest[:80])
        if not (directory / digest).is_file():
            _download(directory, digest, url, client, route)
            count += 1
    return count


def _download(directory: Path, digest: str, url: str, client: HttpClient, route: str) -> None:
    part = directory / (digest + _PART)
    for tries_left in reversed(range(TRIES)):
        had_bytes = part.stat().st_size if part.is_file() else 0
        try:
            _resume(part, f"{route}/{digest}", digest, url, client, had_bytes)
        except UnavailableError:
            if not tries_left or part.stat().st_size <= had_bytes:
                raise
            continue
        if _digest(part) == digest:
            rename_flushed(part, directory / digest)
            return
        part.unlink()
        if not had_bytes:
            break
        # The partial file was of another content: download this one from its beginning.
    raise issues.NOT_AS_NAMED.error(what="a content", digest=digest)


def _resume(part: Path, path: str, digest: str, url: str, client: HttpClient, had_bytes: int) -> None:
    """Append the missing bytes, or write the file from its beginning if the server does not support ranges."""
    headers = {"Range": f"bytes={had_bytes}-", "If-Range": f'"{digest}"'} if had_bytes else {}
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:

        def begin(status: int) -> bool:
            if status >= 400:
                return False
            file.seek(had_bytes if status == _PARTIAL else 0)
            file.truncate()
            return True

        response = client.download(url, path, headers, file, begin)
    if response.status >= 400 and response.status != _NOT_SATISFIABLE:
        https.read_answer(url, response, dict)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
