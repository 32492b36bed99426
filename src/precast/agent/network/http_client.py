"""How commands on a node ask servers: through a network process, or directly where nothing is to be protected: at boot, in tests."""

import contextlib
import errno
import ssl
from collections.abc import Callable, Iterator
from typing import IO, BinaryIO, Protocol

from precast.base import https
from precast.base.https import HttpAnswer


class HttpClient(Protocol):
    """Gets resources of servers as this node."""

    def get(self, url: str, path: str, headers: dict[str, str]) -> HttpAnswer:
        """Get a resource. Raises UnavailableError HTTP-002, DeniedError HTTP-003."""

    def post(self, url: str, path: str, body: bytes) -> HttpAnswer:
        """Send a document in JSON. Raises as `get`."""

    def download(
        self, url: str, path: str, headers: dict[str, str], file: BinaryIO, begin: Callable[[int], bool]
    ) -> HttpAnswer:
        """Write the body into a file while it arrives, as `https.download` does.

        Raises as `get`, and OSError if a write fails; then the client is not used again.
        """

    def upload(self, url: str, path: str, file: IO[bytes], size: int) -> HttpAnswer:
        """Put content: `size` bytes of a file from where it is.

        Raises as `get`, and OSError if the file cannot be read; then the client is not used again.
        """


class DirectHttp:
    """Asks servers in this process."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def get(self, url: str, path: str, headers: dict[str, str]) -> HttpAnswer:
        return https.call(url, self._context, "GET", path, headers=headers)

    def post(self, url: str, path: str, body: bytes) -> HttpAnswer:
        return https.call(url, self._context, "POST", path, body)

    def download(
        self, url: str, path: str, headers: dict[str, str], file: BinaryIO, begin: Callable[[int], bool]
    ) -> HttpAnswer:
        return https.download(url, self._context, path, file, begin, headers=headers)

    def upload(self, url: str, path: str, file: IO[bytes], size: int) -> HttpAnswer:
        return https.call(url, self._context, "PUT", path, read_pieces(file, size), headers=content_headers(size))


def content_headers(size: int) -> dict[str, str]:
    """The headers of a request whose body is content."""
    return {"Content-Type": "application/octet-stream", "Content-Length": str(size)}


def read_pieces(file: IO[bytes], size: int) -> Iterator[bytes]:
    """The next `size` bytes of a file. Raises OSError, also if the file is shorter."""
    left = size
    while left:
        piece = file.read(min(left, https.CHUNK_BYTES))
        if not piece:
            raise OSError(errno.EIO, f"the file is shorter than {size} bytes")
        left -= len(piece)
        yield piece


# Makes a client with a TLS context, for a block.
OpenClient = Callable[[ssl.SSLContext], contextlib.AbstractContextManager[HttpClient]]


@contextlib.contextmanager
def direct_http(context: ssl.SSLContext) -> Iterator[HttpClient]:
    """A client that asks servers in this process."""
    yield DirectHttp(context)
