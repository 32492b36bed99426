"""Digests: content is known by the sha256 of its bytes, data by that of its canonical JSON. Written as 64 lower-case hex digits."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, NewType

from precast.base import canonical

Digest = NewType("Digest", str)

CHARS = 64
_FORM = re.compile(rf"[0-9a-f]{{{CHARS}}}")


def of_bytes(data: bytes) -> Digest:
    return Digest(hashlib.sha256(data).hexdigest())


def of_chunks(chunks: Iterable[bytes]) -> Digest:
    """The digest of content that is too large to hold at once."""
    running = hashlib.sha256()
    for chunk in chunks:
        running.update(chunk)
    return Digest(running.hexdigest())


def of_value(value: Any) -> Digest:
    """The digest of data. Raises what `canonical.encode` raises."""
    return of_bytes(canonical.encode(value))


def is_digest(text: str) -> bool:
    return _FORM.fullmatch(text) is not None


def plain_fingerprint(text: str) -> Digest | None:
    """A fingerprint in the forms people paste, `SHA256:AB:CD…`, as we write it; None if it is none."""
    plain = text.strip().lower().removeprefix("sha256").replace(":", "")
    return Digest(plain) if is_digest(plain) else None
