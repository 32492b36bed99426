"""Uploads the content of files: only what the server lacks, small files batched, several requests at the same time."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from precast.cli.console.client import Client, segment
from precast.services.code import issues
from precast.services.code.file_trees import FileTree
from precast.wire.code.content_frames import encode_header
from precast.wire.code.environments import MissingAnswer, MissingBody, ReceivedAnswer

DIGESTS_PER_REQUEST = 2_000
PARALLEL_REQUESTS = 4
# A request carries at most this much, or one larger file.
REQUEST_BYTES = 8 * 1024 * 1024
REQUEST_FILES = 500
READ_BYTES = 256 * 1024


class UploadResult(NamedTuple):
    """How many files and bytes were sent."""

    files: int
    size: int


class Source(NamedTuple):
    """The content to send: a file, or bytes in memory."""

    size: int
    path: Path | None
    data: bytes = b""


def upload(client: Client, environment: str, tree: FileTree, paths: Mapping[str, Path]) -> UploadResult:
    """Send the missing files of a tree, its manifest last.

    Raises the server's errors, and NotFoundError ENV-004 for a file that was deleted meanwhile.
    """
    manifest = tree.encode()
    sources: dict[str, Source] = {file.digest: Source(file.size, paths[file.digest]) for file in tree.files.values()}
    sources[tree.version] = Source(len(manifest), None, manifest)
    path = f"/v1/environments/{segment(environment)}"
    digests = list(sources)
    missing: list[str] = []
    for at in range(0, len(digests), DIGESTS_PER_REQUEST):
        body = MissingBody(digests[at : at + DIGESTS_PER_REQUEST])
        missing += client.ask("POST", f"{path}/missing", MissingAnswer, body).missing
    batches = list(_batches([(digest, sources[digest]) for digest in missing]))
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        # The first error is raised; content that other requests have sent stays on the server.
        for _ in pool.map(lambda batch: _send_batch(client, f"{path}/content", batch), batches):
            pass
    return UploadResult(len(missing), sum(sources[digest].size for digest in missing))


def _batches(missing: Sequence[tuple[str, Source]]) -> Iterator[list[tuple[str, Source]]]:
    batch: list[tuple[str, Source]] = []
    size = 0
    for digest, source in missing:
        if batch and (size + source.size > REQUEST_BYTES or len(batch) == REQUEST_FILES):
            yield batch
            batch, size = [], 0
        batch.append((digest, source))
        size += source.size
    if batch:
        yield batch


def _send_batch(client: Client, path: str, batch: Sequence[tuple[str, Source]]) -> None:
    size = sum(len(encode_header(digest, source.size)) + source.size for digest, source in batch)
    client.send(path, ReceivedAnswer, _parts(batch), size)


def _parts(batch: Sequence[tuple[str, Source]]) -> Iterator[bytes]:
    for digest, source in batch:
        yield encode_header(digest, source.size)
        if source.path is None:
            yield source.data
        else:
            yield from _file_parts(source.path, source.size)


def _file_parts(path: Path, size: int) -> Iterator[bytes]:
    """Exactly as many bytes as the header announces. The server notices a changed file by its digest; a shorter one is noticed here."""
    try:
        with path.open("rb") as file:
            while size:
                part = file.read(min(READ_BYTES, size))
                if not part:
                    raise issues.CANNOT_READ.error(place=path, reason="it became shorter while it was sent")
                size -= len(part)
                yield part
    except OSError as error:
        raise issues.CANNOT_READ.error(place=path, reason=error.strerror) from None
