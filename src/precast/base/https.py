"""HTTPS requests with the standard library, for commands and for nodes: JSON in and out, a deadline, a limit on the response."""

import contextlib
import http.client
import ssl
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from precast.base import clock_differences, issues
from precast.base.clock import SystemClock
from precast.base.clock_differences import trust_any as trust_any
from precast.base.errors import CONSEQUENCES, PrecastError

T = TypeVar("T")

MAX_ANSWER_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 256 * 1024


class Problem(msgspec.Struct, frozen=True):
    """An error of the server, as it is in a response (problem+json)."""

    status: int
    detail: str
    code: str
    hint: str = ""


class HttpAnswer(NamedTuple):
    """The response to a request."""

    status: int
    body: bytes
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


def split_url(url: str) -> tuple[str, int]:
    """Host and port of an `https://` address. Raises InputError HTTP-001 for anything else."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 8140
    except ValueError:
        raise issues.BAD_URL.error() from None
    if parts.scheme != "https" or not host or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise issues.BAD_URL.error()
    if "@" in parts.netloc:  # a password would end up in messages
        raise issues.BAD_URL.error()
    return host, port


def call(
    url: str,
    context: ssl.SSLContext,
    method: str,
    path: str,
    body: bytes | Iterable[bytes] = b"",
    *,
    headers: dict[str, str] | None = None,
    timeout_s: float = 30.0,
) -> HttpAnswer:
    """Make one request; a body in parts needs its length in the headers.

    Raises UnavailableError HTTP-002 if the server does not answer, HTTP-005 if its certificate is not valid by this machine's clock,
    DeniedError HTTP-003 if it is not trusted.
    """
    with _request(url, context, method, path, body, headers or {}, timeout_s) as response:
        data = response.read(MAX_ANSWER_BYTES + 1)
    if len(data) > MAX_ANSWER_BYTES:
        raise issues.NO_ANSWER.error(url=url, reason="its answer is too large")
    return HttpAnswer(response.status, data, dict(response.getheaders()))


def download(
    url: str,
    context: ssl.SSLContext,
    path: str,
    file: BinaryIO,
    begin: Callable[[int], bool],
    *,
    headers: dict[str, str] | None = None,
    timeout_s: float = 30.0,
) -> HttpAnswer:
    """Write the response body into a file while it arrives. `begin` gets the status; if it returns False, the answer has the body instead.

    Raises as `call` does, also if the body is cut off: then the file has the part that arrived. Raises OSError if a write fails.
    """
    unwritten: OSError | None = None
    with _request(url, context, "GET", path, b"", headers or {}, timeout_s) as response:
        if not begin(response.status):
            return HttpAnswer(response.status, response.read(MAX_ANSWER_BYTES), dict(response.getheaders()))
        length = response.length
        received = 0
        while unwritten is None and (data := response.read(CHUNK_BYTES)):
            received += len(data)
            try:
                file.write(data)
            except OSError as error:  # of the file, not of the connection
                unwritten = error
        if unwritten is None:
            check_length(url, length, received)
    if unwritten is not None:
        raise unwritten
    return HttpAnswer(response.status, b"", dict(response.getheaders()))


def open_response(
    url: str,
    context: ssl.SSLContext,
    method: str,
    path: str,
    body: bytes | Iterable[bytes],
    headers: dict[str, str],
    timeout_s: float = 30.0,
) -> contextlib.AbstractContextManager[http.client.HTTPResponse]:
    """Make one request; the caller reads the body of the answer. Raises as `call` does, also while the body is read."""
    return _request(url, context, method, path, body, headers, timeout_s)


def check_length(url: str, length: int | None, received: int) -> None:
    """Raises UnavailableError HTTP-002 if a body was cut off."""
    if length is not None and received < length:
        raise issues.NO_ANSWER.error(url=url, reason=f"it broke off after {received} of {length} bytes")


@contextlib.contextmanager
def _request(
    url: str,
    context: ssl.SSLContext,
    method: str,
    path: str,
    body: bytes | Iterable[bytes],
    headers: dict[str, str],
    timeout_s: float,
) -> Iterator[http.client.HTTPResponse]:
    """One request, from its start to the end of its response; connection errors become errors of ours."""
    host, port = split_url(url)
    connection = http.client.HTTPSConnection(host, port, context=context, timeout=timeout_s)
    try:
        kind = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, body or None, {**kind, **headers})
        yield connection.getresponse()
    except ssl.SSLCertVerificationError as error:
        if clock_differences.is_about_time(error):
            difference = clock_differences.explain_difference(
                SystemClock().now(), clock_differences.ask_server_time(host, port)
            )
            reason = error.verify_message if not difference else f"{error.verify_message}, and {difference}"
            raise issues.NOT_VALID_NOW.error(url=url, reason=reason, now=SystemClock().now()) from error
        raise issues.NOT_TRUSTED.error(url=url, reason=error.verify_message) from error
    except (OSError, http.client.HTTPException, UnicodeError) as error:  # UnicodeError: the host name is invalid
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise issues.NO_ANSWER.error(url=url, reason=reason) from error
    finally:
        connection.close()


def trust_authority(authority_pem: str) -> ssl.SSLContext:
    """A TLS context that trusts only this authority, which may have another one above it that is not trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=authority_pem)
    return context


def read_answer(url: str, response: HttpAnswer, answer: type[T]) -> T:
    """Decode a response of our server. Raises the error that the server reports, and UnavailableError HTTP-004 if it is not ours."""
    try:
        if response.status < 400:
            return msgspec.json.decode(response.body, type=answer)
        problem = msgspec.json.decode(response.body, type=Problem)
        kind = next(kind for kind, row in CONSEQUENCES.items() if row.http_status == problem.status)
    except (msgspec.MsgspecError, UnicodeDecodeError, StopIteration):
        raise issues.UNEXPECTED_ANSWER.error(url=url, status=response.status) from None
    raise PrecastError.of_kind(kind, problem.code, problem.detail, problem.hint)
