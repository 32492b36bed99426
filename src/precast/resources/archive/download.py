"""Downloads a file into an unnamed temporary file, never into memory: over HTTP or HTTPS, with a proxy, a cookie and an account if given.

At most five redirects are followed, to HTTP and HTTPS alone. A redirect to another host or to a plain connection carries neither account
nor cookie.
"""

import base64
import http.client
import ssl
import time
import urllib.error
import urllib.request
from email.message import Message
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from precast.resources.files import checksums, issues
from precast.resources.files.remote import SILENCE_S

WHOLE_S: Final = 3600.0
MAX_TEXT_BYTES: Final = 1 << 20
_MAX_REDIRECTS: Final = 5
_SECRET_HEADERS: Final = ("Authorization", "Cookie")
# Signs that a URL may have as they are; others, such as blanks, are escaped.
_URL_SIGNS: Final = ";/?:@&=+$,[]%-_.!~*'()#"


class Access(NamedTuple):
    """How a server is asked."""

    username: str | None = None
    password: str | None = None
    cookie: str | None = None
    proxy: str | None = None
    is_insecure: bool = False


def fetch(url: str, access: Access, file: BinaryIO, max_bytes: int | None = None) -> None:
    """Download a file. Raises UnavailableError RESOURCE-119, with the address but no account in it."""
    address, account = _split_account(url)
    end_s, size = time.monotonic() + WHOLE_S, 0
    try:
        with _open(address, account or _account(access), access) as answer:
            while piece := answer.read(checksums.PIECE_BYTES):
                size += len(piece)
                file.write(piece)
                if time.monotonic() > end_s:
                    raise TimeoutError(f"the download took longer than {WHOLE_S:.0f} s")
                if max_bytes is not None and size > max_bytes:
                    raise ValueError(f"it has more than {max_bytes} bytes")
            length = answer.headers.get("Content-Length")
        if length is not None and length.isdecimal() and int(length) != size:
            raise ValueError(f"only {size} of {length} bytes arrived")
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise issues.NOT_FETCHED.error(source=address, reason=_reason(error)) from None
    file.flush()


def _open(address: str, account: str | None, access: Access) -> http.client.HTTPResponse:
    context = ssl.create_default_context()
    if access.is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    proxies = {} if access.proxy is None else {"http": access.proxy, "https": access.proxy}
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    request = urllib.request.Request(quote(address, safe=_URL_SIGNS))  # noqa: S310 - only HTTP handlers are there
    request.add_header("User-Agent", "precast")
    request.add_header("Accept-Encoding", "identity")
    if account is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(account.encode()).decode()}")
    if access.cookie is not None:
        request.add_header("Cookie", access.cookie)
    answer = opener.open(request, timeout=SILENCE_S)
    if answer is None:
        raise urllib.error.URLError("it redirects to a URL that is not HTTP")
    response: http.client.HTTPResponse = answer
    return response


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = _MAX_REDIRECTS

    def redirect_request(
        self, req: urllib.request.Request, fp: object, code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        is_weaker = before.scheme == "https" and after.scheme != "https"
        if request is not None and (before.netloc != after.netloc or is_weaker):
            for name in _SECRET_HEADERS:
                request.remove_header(name)
        return request


def _split_account(url: str) -> tuple[str, str | None]:
    """The address without the account that it may have, and the account."""
    parts = urlsplit(url)
    account, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=host)), unquote(account) if at else None


def _account(access: Access) -> str | None:
    return None if access.username is None else f"{access.username}:{access.password or ''}"


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"its server answers {error.code} {error.reason}"
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(inner) or type(inner).__name__


def hide_account(url: str) -> str:
    """A URL as messages show it: without an account."""
    return _split_account(url)[0] if "@" in url else url
