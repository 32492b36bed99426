"""One request to somebody else's address: a body out, a status back. Blocking, so it belongs into a thread."""

import http.client
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

# Of an answer nobody reads more.
MAX_ANSWER_BYTES = 4096


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> int:
    """The status of the answer. Raises OSError or http.client.HTTPException; redirects are not followed."""
    parts = urlsplit(url)
    assert parts.hostname is not None, "checked when it was configured"
    made: http.client.HTTPConnection
    if parts.scheme == "https":
        made = http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=timeout_s, context=ssl.create_default_context()
        )
    else:
        made = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
    try:
        made.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, dict(headers))
        answer = made.getresponse()
        answer.read(MAX_ANSWER_BYTES)
        return answer.status
    finally:
        made.close()
