"""How a fetch asks servers: through the network process, or directly where nothing is to be protected (tests)."""

import ssl
from collections.abc import Callable
from typing import BinaryIO, Protocol

from precast.base import https
from precast.base.https import HttpAnswer


class HttpClient(Protocol):
    """Gets resources of servers as this node."""

    def get(self, url: str, path: str, headers: dict[str, str]) -> HttpAnswer:
        """Get a resource. Raises UnavailableError HTTP-002, DeniedError HTTP-003."""

    def download(
        self, url: str, path: str, headers: dict[str, str], file: BinaryIO, begin: Callable[[int], bool]
    ) -> HttpAnswer:
        """Write the body into a file while it arrives, as `https.download` does.

        Raises as `get`, and OSError if a write fails; then the client is not used again.
        """


class DirectHttp:
    """Asks servers in this process."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def get(self, url: str, path: str, headers: dict[str, str]) -> HttpAnswer:
        return https.call(url, self._context, "GET", path, headers=headers)

    def download(
        self, url: str, path: str, headers: dict[str, str], file: BinaryIO, begin: Callable[[int], bool]
    ) -> HttpAnswer:
        return https.download(url, self._context, path, file, begin, headers=headers)
