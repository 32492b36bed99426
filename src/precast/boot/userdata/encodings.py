"""Unpacks user data: gzip, base64 and MIME, within limits. What is packed small may be endless: it is measured while it is unpacked."""

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
    """A part as it came: its type (empty if nobody said), name, content, headers of interest in lower case.

    Not `is_named`: nobody gave it a name, so it has one that says where it was found.
    """

    content_type: str
    name: str
    content: bytes
    headers: Mapping[str, str] = {}
    is_named: bool = False


def extract_parts(data: bytes, name: str) -> Iterator[UserDataPart]:
    """The parts of user data, one or many. Raises InputError BOOT-301 or BOOT-304."""
    plain = decode(data, name)
    if is_message(plain):
        yield from _split_message(plain, name)
    else:
        yield UserDataPart("", name, plain)


def decode(data: bytes, name: str) -> bytes:
    """Without compression, and without base64 around something known."""
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
    """What is compressed, or the data as it is if it is not. Members that follow one another are all read."""
    out = b""
    while data[:2] == _GZIP:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            out += unpacker.decompress(data, max_bytes + 1 - len(out))
        except zlib.error as error:
            raise issues.BAD_PACKING.error(what=name, reason=error) from None
        if len(out) > max_bytes:
            raise issues.TOO_MUCH.error(what=f"what {name} unpacks to", limit=f"{max_bytes} bytes")
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
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""
