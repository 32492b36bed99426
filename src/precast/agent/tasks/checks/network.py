"""Tests that connect to something: a port, or a server of HTTP.

What answers is not trusted, and this process would be root: it gives up its privileges before it connects, as the process does that talks
to our own servers.
"""

import http.client
import socket
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urlsplit

from precast.agent.network.privileges import drop_privileges
from precast.agent.tasks.context import StepOutcome, TaskContext, failed
from precast.wire.jobs.programs import HttpTest, TcpTest

MAX_ANSWER_BYTES = 1024 * 1024
HTTP_OK = 200
PASSED = StepOutcome(True)


def check_tcp(context: TaskContext, test: TcpTest) -> StepOutcome:
    """Passes if a connection is accepted."""
    _give_up_privileges(context)
    try:
        socket.create_connection((test.host, test.port), timeout=test.timeout_s or None).close()
    except OSError as error:
        return failed(_reason(error))
    return PASSED


def check_http(context: TaskContext, test: HttpTest) -> StepOutcome:
    """Passes if the answer has one of the codes, and contains the text. Certificates are verified by the authorities of the system."""
    url = urlsplit(test.url)
    try:
        connection = _connection(url, test.timeout_s)
    except ValueError as error:
        return failed(f"{test.url} cannot be asked: {error}", is_final=True)
    _give_up_privileges(context)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    try:
        connection.request("GET", target, headers={"User-Agent": "precast", "Accept": "*/*", "Connection": "close"})
        response = connection.getresponse()
        body = response.read(MAX_ANSWER_BYTES)
    except (OSError, HTTPException, ValueError) as error:
        return failed(_reason(error))
    finally:
        connection.close()
    return _judge(test, response.status, body)


def _give_up_privileges(context: TaskContext) -> None:
    """Become the user of the network process, and keep nothing open but the way to the task's process. Raises OSError."""
    try:
        drop_privileges(context.settings.network_user, list(context.handles))
    except LookupError as error:
        raise OSError(str(error)) from None


def _connection(url: SplitResult, timeout_s: float) -> HTTPConnection:
    """Raises ValueError for an address that cannot be asked."""
    if not url.hostname or url.scheme not in ("http", "https"):
        raise ValueError("it is no address of the form http://HOST or https://HOST")
    if url.scheme == "http":
        return HTTPConnection(url.hostname, url.port, timeout=timeout_s or None)
    return HTTPSConnection(url.hostname, url.port, timeout=timeout_s or None, context=ssl.create_default_context())


def _judge(test: HttpTest, status: int, body: bytes) -> StepOutcome:
    accepted = test.status or [HTTP_OK]
    if status not in accepted:
        phrase = http.client.responses.get(status, "")
        return failed(f"it answers {status} {phrase}".rstrip() + f", and not {' or '.join(map(str, accepted))}")
    if test.contains.encode() not in body:
        where = (
            f"the first {MAX_ANSWER_BYTES >> 20} MiB of its answer" if len(body) == MAX_ANSWER_BYTES else "its answer"
        )
        return failed(f"{where} does not contain {test.contains!r}")
    return PASSED


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return f"what it answers is not HTTP: {type(error).__name__}"
