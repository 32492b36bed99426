"""A file on another server, over HTTP or HTTPS, compared as Puppet does: by a checksum that the server tells, or by the time of its last
change. Where it tells neither, the file is fetched and its content decides.

What is written is what was checked: it is fetched once, into a file without a name, and never held in memory.
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

# Without a byte for so long, the server counts as away; and so long a file may take in all.
SILENCE_S = 30.0
WHOLE_S = 600.0
GONE = (404, 410)
# Servers that answer so to HEAD may still give the file.
NO_HEAD = (403, 405, 501)
_TOLD = {"sha256": "X-Checksum-Sha256", "sha1": "X-Checksum-Sha1", "md5": "X-Checksum-Md5"}


class Remote:
    """One that is there, as its server's headers say."""

    kind: "SourceKind" = "file"
    target = ""
    found = None

    def __init__(self, url: str, headers: Message) -> None:
        self._url = url
        self._told = _checksums(headers)
        self._changed_s = _moment(headers.get("Last-Modified"))
        self._content: int | None = None  # a file without a name, closed with us

    def comparable(self, kind: str) -> str:
        if kind in self._told or kind == "none" or self.changed_at(kind) is not None:
            return kind
        known = [*(one for one in _TOLD if one in self._told), *(["mtime"] if self._changed_s is not None else [])]
        if known:
            return known[0]
        return "sha256" if kind in checksums.TIMES else kind

    def changed_at(self, kind: str) -> float | None:
        return self._changed_s if kind == "mtime" else None

    def checksum(self, kind: str) -> str:
        if kind in self._told:
            return f"{{{kind}}}{self._told[kind]}"
        if kind in checksums.TIMES and self._changed_s is not None:
            return checksums.of_moment(kind, self._changed_s)
        with self.open() as file:
            return checksums.of_stream(kind, file)

    def open(self) -> BinaryIO:
        if self._content is None:
            with tempfile.TemporaryFile() as file:
                self._fetch(file)
                self._hold_to_its_word(file)
                self._content = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._content)
        # With a place of its own in the file.
        return open(f"/proc/self/fd/{self._content}", "rb")

    def below(self, ignored: Sequence[str], limit: int | None) -> Mapping[str, "Source"]:
        return {}

    def _fetch(self, file: BinaryIO) -> None:
        """The whole of it. Raises UnavailableError RESOURCE-119."""
        end_s, size = time.monotonic() + WHOLE_S, 0
        try:
            with _ask(self._url, "GET") as answer:
                while piece := answer.read(checksums.PIECE_BYTES):
                    size += len(piece)
                    file.write(piece)
                    if time.monotonic() > end_s:
                        raise TimeoutError(f"it was not there within {WHOLE_S:.0f} s")
                length = answer.headers.get("Content-Length")
        except (OSError, http.client.HTTPException) as error:
            raise issues.NOT_FETCHED.error(source=self._url, reason=_reason(error)) from None
        if length is not None and length.isdecimal() and int(length) != size:
            raise issues.NOT_FETCHED.error(source=self._url, reason=f"{size} of {length} bytes came")
        file.flush()

    def _hold_to_its_word(self, file: BinaryIO) -> None:
        """Raises InputError RESOURCE-114 if it is not what the server told."""
        for kind, digits in self._told.items():
            file.seek(0)
            found = checksums.of_stream(kind, file)
            if found != f"{{{kind}}}{digits}":
                raise issues.WRONG_CHECKSUM.error(path=self._url, found=found, wanted=f"{{{kind}}}{digits}")


def look_at(url: str) -> Remote | None:
    """The file, if the server has it. Raises UnavailableError RESOURCE-119."""
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
    # Only what speaks HTTP: no answer leads to a file of this machine, or to another kind of server.
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
        raise urllib.error.URLError("it leads to something else than HTTP")
    found: http.client.HTTPResponse = answer
    return found


def _checksums(headers: Message) -> dict[str, str]:
    """By kind, in the order in which they are preferred."""
    told = {kind: headers[name].strip().lower() for kind, name in _TOLD.items() if headers[name]}
    if "md5" not in told and headers["Content-MD5"]:
        with contextlib.suppress(binascii.Error):
            told["md5"] = base64.b64decode(headers["Content-MD5"], validate=True).hex()
    return {kind: digits for kind, digits in told.items() if len(digits) == checksums.digits(kind)}


def _moment(text: str | None) -> float | None:
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
