"""Fetches the content that user data refers to by URL: http, https, file. It blocks, so only modules' threads use it; sources use `web`."""

import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from urllib.parse import urlsplit

MAX_BYTES = 32 << 20
_TRIES = 3
_PAUSE_S = 1.0


def fetch(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    timeout_s: float = 20.0,
    data: bytes | None = None,
    tries: int = _TRIES,
    max_bytes: int = MAX_BYTES,
) -> bytes:
    """Return the content at a URL, with a few tries. Raises OSError, and ValueError for another scheme or too large a content."""
    if urlsplit(url).scheme not in ("http", "https", "file"):
        raise ValueError("only http, https and file URLs are fetched")
    request = urllib.request.Request(url, data, dict(headers or {}))  # noqa: S310 - the scheme was checked
    for left in reversed(range(tries)):
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310 - the scheme was checked
                content: bytes = answer.read(max_bytes + 1)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 or not left:
                raise OSError(f"the server responded {error.code} {error.reason}") from None
        except urllib.error.URLError as error:
            if not left:
                raise OSError(str(error.reason)) from None
        except (OSError, HTTPException) as error:
            if not left:
                raise OSError(str(error)) from None
        else:
            if len(content) > max_bytes:
                raise ValueError(f"it is more than {max_bytes} bytes")
            return content
        time.sleep(_PAUSE_S)
    raise AssertionError("the last try returns or raises")
