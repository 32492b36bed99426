"""Decodes user data: gzip, base64 and MIME, within limits. Compressed data may expand without end, so its size is checked meanwhile."""

import base64
import binascii
import email
import re
import zlib
from collections.abc import Iterator, Mapping
from email.message import Message
from typing import Final, NamedTuple

from precast.boot.userdata import issues, kinds

MAX_BYTES: Final = 16 << 20
_GZIP = b"\x1f\x8b"
_BASE64 = re.compile(rb"[A-Za-z0-9+/\s]+={0,2}\s*")


class UserDataPart(NamedTuple):
    """A part before it is parsed: its content type (empty if unknown), name, content, and headers in lower case.

    Without `is_named` it has no name of its own, and `name` is a number or the address it came from.
    """

    content_type: str
    name: str
    content: bytes
    headers: Mapping[str, str] = {}
    is_named: bool = False


def extract_parts(data: bytes, name: str) -> Iterator[UserDataPart]:
    """Yield the parts of user data. Raises InputError BOOT-301 or BOOT-304."""
    plain = decode(data, name)
    if is_message(plain):
        yield from _split_message(plain, name)
    else:
        yield UserDataPart("", name, plain)


def decode(data: bytes, name: str) -> bytes:
    """Decompress the data, and decode base64 if the result is of a known kind."""
    data = gunzip(data, name)
    if kinds.find_kind_by_beginning(data) is None and not is_message(data) and _BASE64.fullmatch(data[: 1 << 20]):
        try:
            inner = base64.b64decode(data)
        except binascii.Error:
            return data
        if inner[:2] == _GZIP or kinds.find_kind_by_beginning(inner) is not None or is_message(inner):
            return gunzip(inner, name)
    return data


def gunzip(data: bytes, name: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Decompress the data, all gzip members of it; data that is not compressed is returned unchanged."""
    out = b""
    while data[:2] == _GZIP:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            out += unpacker.decompress(data, max_bytes + 1 - len(out))
        except zlib.error as error:
            raise issues.BAD_PACKING.error(what=name, reason=error) from None
        if len(out) > max_bytes:
            raise issues.TOO_MUCH.error(what=f"the decompressed size of {name}", limit=f"{max_bytes} bytes")
        if not unpacker.eof:
            raise issues.BAD_PACKING.error(what=name, reason="it ends too early")
        data = unpacker.unused_data
        if data[:2] != _GZIP:
            return out
    return data


def is_message(data: bytes) -> bool:
    start = data[:4096].lower()
    return b"mime-version:" in start or start.startswith(b"content-type: multipart")


def _split_message(data: bytes, name: str) -> Iterator[UserDataPart]:
    message = email.message_from_bytes(data)
    for at, part in enumerate(message.walk()):
        if part.get_content_maintype() == "multipart":
            continue
        own = part.get_filename()
        called = own or f"part-{at:03}"
        content = _decode_payload(part)
        content_type = part.get_content_type()
        if content_type in kinds.COMPRESSED:
            content, content_type = gunzip(content, called), ""
        headers = {key.lower(): str(value) for key, value in part.items()}
        yield UserDataPart(content_type, called, gunzip(content, called), headers, bool(own))


def _decode_payload(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""
