"""One HTTPS request with the standard library: JSON in and out, a deadline, a limit on the answer. For commands and for nodes."""

import contextlib
import http.client
import ssl
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from precast.base import issues
from precast.base.errors import CONSEQUENCES, PrecastError

T = TypeVar("T")

MAX_ANSWER_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 256 * 1024


class Problem(msgspec.Struct, frozen=True):
    """An error of the server's, as it travels."""

    status: int
    detail: str
    code: str
    hint: str = ""


class Answer(NamedTuple):
    """What came back."""

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
) -> Answer:
    """Make one request; a body that comes in parts needs its length in the headers.

    Raises UnavailableError HTTP-002 if nobody answers, DeniedError HTTP-003 if it is not whom we trust.
    """
    with _answered(url, context, method, path, body, headers or {}, timeout_s) as response:
        data = response.read(MAX_ANSWER_BYTES + 1)
    if len(data) > MAX_ANSWER_BYTES:
        raise issues.NO_ANSWER.error(url=url, reason="its answer is too large")
    return Answer(response.status, data, dict(response.getheaders()))


def download(
    url: str,
    context: ssl.SSLContext,
    path: str,
    file: BinaryIO,
    begin: Callable[[int], bool],
    *,
    headers: dict[str, str] | None = None,
    timeout_s: float = 30.0,
) -> Answer:
    """Write what comes into a file as it comes. `begin` is told the status and says whether that is for the file; else it is the answer's.

    Raises as `call` does, also if the body is cut off: then the file has what came of it; and OSError if that cannot be written.
    """
    unwritten: OSError | None = None
    with _answered(url, context, "GET", path, b"", headers or {}, timeout_s) as response:
        if not begin(response.status):
            return Answer(response.status, response.read(MAX_ANSWER_BYTES), dict(response.getheaders()))
        length = response.length
        came = 0
        while unwritten is None and (data := response.read(CHUNK_BYTES)):
            came += len(data)
            try:
                file.write(data)
            except OSError as error:  # ours, not the connection's
                unwritten = error
        if unwritten is None and length is not None and came < length:
            raise issues.NO_ANSWER.error(url=url, reason=f"it broke off after {came} of {length} bytes")
    if unwritten is not None:
        raise unwritten
    return Answer(response.status, b"", dict(response.getheaders()))


@contextlib.contextmanager
def _answered(
    url: str,
    context: ssl.SSLContext,
    method: str,
    path: str,
    body: bytes | Iterable[bytes],
    headers: dict[str, str],
    timeout_s: float,
) -> Iterator[http.client.HTTPResponse]:
    """One request, from its beginning to the end of its answer; what happens to the connection is an error of ours."""
    host, port = split_url(url)
    connection = http.client.HTTPSConnection(host, port, context=context, timeout=timeout_s)
    try:
        kind = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, body or None, {**kind, **headers})
        yield connection.getresponse()
    except ssl.SSLCertVerificationError as error:
        raise issues.NOT_TRUSTED.error(url=url, reason=error.verify_message) from error
    except (OSError, http.client.HTTPException, UnicodeError) as error:  # UnicodeError: no such name can be looked up
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise issues.NO_ANSWER.error(url=url, reason=reason) from error
    finally:
        connection.close()


def trusting(authority_pem: str) -> ssl.SSLContext:
    """A context that trusts this authority and nobody else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=authority_pem)
    return context


def trusting_nobody() -> ssl.SSLContext:
    """A context that takes any answer: only for what is checked by its digest afterwards."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def read_answer(url: str, came: Answer, answer: type[T]) -> T:
    """What a server of ours said. Raises its error as it was, and UnavailableError HTTP-004 if it is not an answer of ours."""
    try:
        if came.status < 400:
            return msgspec.json.decode(came.body, type=answer)
        problem = msgspec.json.decode(came.body, type=Problem)
        kind = next(kind for kind, row in CONSEQUENCES.items() if row.http_status == problem.status)
    except (msgspec.MsgspecError, UnicodeDecodeError, StopIteration):
        raise issues.STRANGE_ANSWER.error(url=url, status=came.status) from None
    raise PrecastError.of_kind(kind, problem.code, problem.detail, problem.hint)
