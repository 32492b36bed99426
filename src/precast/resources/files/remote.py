"""A file on another server, over HTTP or HTTPS, compared as in Puppet: by a checksum in the response headers, or by the time of its last
change. If the server sends neither, the file is downloaded and its content decides.

The file is downloaded once, into an unnamed temporary file and never into memory, so the content that was checked is the content that is
written.
"""

import base64
import binascii
import contextlib
import http.client
import os
import tempfile
import time
import urllib.error
import urllib.request
import weakref
from collections.abc import Mapping, Sequence
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, BinaryIO

from precast.resources.files import checksums, issues

if TYPE_CHECKING:
    from precast.resources.files.sources import Source, SourceKind

# After this time without a byte the server counts as unavailable; and a whole file may take this long.
SILENCE_S = 30.0
WHOLE_S = 600.0
GONE = (404, 410)
# Servers that answer HEAD with these statuses may still serve the file to GET.
NO_HEAD = (403, 405, 501)
_HEADERS = {"sha256": "X-Checksum-Sha256", "sha1": "X-Checksum-Sha1", "md5": "X-Checksum-Md5"}


class Remote:
    """An existing file, as described by the server's headers."""

    kind: "SourceKind" = "file"
    target = ""
    found = None

    def __init__(self, url: str, headers: Message) -> None:
        self._url = url
        self._checksums = _checksums(headers)
        self._changed_s = _parse_time(headers.get("Last-Modified"))
        self._content: int | None = None  # an unnamed temporary file, closed together with this object

    def comparable(self, kind: str) -> str:
        if kind in self._checksums or kind == "none" or self.changed_at(kind) is not None:
            return kind
        known = [kind for kind in _HEADERS if kind in self._checksums]
        known += ["mtime"] if self._changed_s is not None else []
        if known:
            return known[0]
        return "sha256" if kind in checksums.TIMES else kind

    def changed_at(self, kind: str) -> float | None:
        return self._changed_s if kind == "mtime" else None

    def checksum(self, kind: str) -> str:
        if kind in self._checksums:
            return f"{{{kind}}}{self._checksums[kind]}"
        if kind in checksums.TIMES and self._changed_s is not None:
            return checksums.of_timestamp(kind, self._changed_s)
        with self.open() as file:
            return checksums.of_stream(kind, file)

    def open(self) -> BinaryIO:
        if self._content is None:
            with tempfile.TemporaryFile() as file:
                self._fetch(file)
                self._verify(file)
                self._content = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._content)
        # A new open file description has a position of its own.
        return open(f"/proc/self/fd/{self._content}", "rb")

    def below(self, ignored: Sequence[str], limit: int | None) -> Mapping[str, "Source"]:
        return {}

    def _fetch(self, file: BinaryIO) -> None:
        """Download the whole file. Raises UnavailableError RESOURCE-119."""
        end_s, size = time.monotonic() + WHOLE_S, 0
        try:
            with _ask(self._url, "GET") as answer:
                while piece := answer.read(checksums.PIECE_BYTES):
                    size += len(piece)
                    file.write(piece)
                    if time.monotonic() > end_s:
                        raise TimeoutError(f"the download took longer than {WHOLE_S:.0f} s")
                length = answer.headers.get("Content-Length")
        except (OSError, http.client.HTTPException) as error:
            raise issues.NOT_FETCHED.error(source=self._url, reason=_reason(error)) from None
        if length is not None and length.isdecimal() and int(length) != size:
            raise issues.NOT_FETCHED.error(source=self._url, reason=f"only {size} of {length} bytes arrived")
        file.flush()

    def _verify(self, file: BinaryIO) -> None:
        """Raises InputError RESOURCE-114 if the content does not match the checksums that the server sent."""
        for kind, digits in self._checksums.items():
            file.seek(0)
            actual = checksums.of_stream(kind, file)
            if actual != f"{{{kind}}}{digits}":
                raise issues.WRONG_CHECKSUM.error(path=self._url, found=actual, wanted=f"{{{kind}}}{digits}")


def find_remote(url: str) -> Remote | None:
    """Find the file; None if the server does not have it. Raises UnavailableError RESOURCE-119."""
    for method in ("HEAD", "GET"):
        try:
            with _ask(url, method) as answer:
                return Remote(url, answer.headers)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in GONE:
                return None
            if method == "HEAD" and error.code in NO_HEAD:
                continue
            raise issues.NOT_FETCHED.error(source=url, reason=_reason(error)) from None
        except (OSError, http.client.HTTPException) as error:
            raise issues.NOT_FETCHED.error(source=url, reason=_reason(error)) from None
    raise AssertionError("the second try returns or raises")


def _ask(url: str, method: str) -> http.client.HTTPResponse:
    # Only HTTP handlers: no redirect can lead to a file of this machine, or to another kind of server.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    headers = {"User-Agent": "precast", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, method=method, headers=headers)  # noqa: S310 - checked with the parameters
    answer = opener.open(request, timeout=SILENCE_S)
    if answer is None:
        raise urllib.error.URLError("it redirects to a URL that is not HTTP")
    response: http.client.HTTPResponse = answer
    return response


def _checksums(headers: Message) -> dict[str, str]:
    """The checksums in the headers by kind, the preferred first."""
    sent = {kind: headers[name].strip().lower() for kind, name in _HEADERS.items() if headers[name]}
    if "md5" not in sent and headers["Content-MD5"]:
        with contextlib.suppress(binascii.Error):
            sent["md5"] = base64.b64decode(headers["Content-MD5"], validate=True).hex()
    return {kind: digits for kind, digits in sent.items() if len(digits) == checksums.digits(kind)}


def _parse_time(text: str | None) -> float | None:
    try:
        return None if text is None else parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"its server answers {error.code} {error.reason}"
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(inner, OSError) and inner.errno is not None:
        return os.strerror(inner.errno) if inner.errno > 0 else str(inner.strerror)
    return str(inner) or type(inner).__name__
