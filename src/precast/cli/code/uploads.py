"""Sends the content of files to a server: only what it does not have, many small ones together, several requests at once."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from precast.cli.console.client import Client, segment
from precast.services.code import issues
from precast.services.code.file_trees import FileTree
from precast.wire.code.content_frames import encode_header
from precast.wire.code.environments import MissingAnswer, MissingBody, ReceivedAnswer

ASKED = 2_000
AT_ONCE = 4
# One request carries as much, or one file that is larger.
REQUEST_BYTES = 8 * 1024 * 1024
REQUEST_FILES = 500
READ_BYTES = 256 * 1024


class Sent(NamedTuple):
    """How much had to be sent."""

    files: int
    size: int


class Source(NamedTuple):
    """Where content is: in a file, or here."""

    size: int
    place: Path | None
    data: bytes = b""


def send(client: Client, environment: str, tree: FileTree, places: Mapping[str, Path]) -> Sent:
    """Send what is missing of a tree, its manifest last. Raises the server's errors, and NotFoundError ENV-004 for a file that is gone."""
    manifest = tree.encode()
    sources: dict[str, Source] = {file.digest: Source(file.size, places[file.digest]) for file in tree.files.values()}
    sources[tree.version] = Source(len(manifest), None, manifest)
    path = f"/v1/environments/{segment(environment)}"
    wanted = list(sources)
    missing: list[str] = []
    for at in range(0, len(wanted), ASKED):
        body = MissingBody(wanted[at : at + ASKED])
        missing += client.ask("POST", f"{path}/missing", MissingAnswer, body).missing
    batches = list(_batches([(digest, sources[digest]) for digest in missing]))
    with ThreadPoolExecutor(AT_ONCE) as senders:
        # The first error is raised; what others send meanwhile is not lost.
        for _ in senders.map(lambda batch: _send_batch(client, f"{path}/content", batch), batches):
            pass
    return Sent(len(missing), sum(sources[digest].size for digest in missing))


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
        if source.place is None:
            yield source.data
        else:
            yield from _file_parts(source.place, source.size)


def _file_parts(place: Path, size: int) -> Iterator[bytes]:
    """As many bytes as were announced: a file that has changed is noticed by its digest, one that is shorter here."""
    try:
        with place.open("rb") as file:
            while size:
                part = file.read(min(READ_BYTES, size))
                if not part:
                    raise issues.CANNOT_READ.error(place=place, reason="it became shorter while it was sent")
                size -= len(part)
                yield part
    except OSError as error:
        raise issues.CANNOT_READ.error(place=place, reason=error.strerror) from None
