"""Digests: the sha256 of content, or of the canonical JSON of data, written as 64 lower-case hex digits."""

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
    """The digest of content that is too large for memory."""
    sha256 = hashlib.sha256()
    for chunk in chunks:
        sha256.update(chunk)
    return Digest(sha256.hexdigest())


def of_value(value: Any) -> Digest:
    """The digest of data. Raises what `canonical.encode` raises."""
    return of_bytes(canonical.encode(value))


def is_digest(text: str) -> bool:
    return _FORM.fullmatch(text) is not None


def parse_fingerprint(text: str) -> Digest | None:
    """A fingerprint in the forms that people paste, such as `SHA256:AB:CD…`, as a digest; None if it is invalid."""
    plain = text.strip().lower().removeprefix("sha256").replace(":", "")
    return Digest(plain) if is_digest(plain) else None
