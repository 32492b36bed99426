"""Sends one POST request to another server and returns the status. It blocks, so callers run it in a thread."""

import http.client
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

# At most this much of a response is read.
MAX_ANSWER_BYTES = 4096


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> int:
    """Post the body and return the status of the response. Raises OSError or http.client.HTTPException. Redirects are not followed."""
    parts = urlsplit(url)
    assert parts.hostname is not None, "the configuration has been checked"
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=timeout_s, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
    try:
        connection.request(
            "POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, dict(headers)
        )
        answer = connection.getresponse()
        answer.read(MAX_ANSWER_BYTES)
        return answer.status
    finally:
        connection.close()
