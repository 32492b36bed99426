"""Public keys of OpenPGP, as far as it takes to know whose they are: a server may answer with any, and only the one asked for counts.

A key without its private half cannot be told by the server from one of its own but by the fingerprint, which is a digest of the key itself
(version 4: SHA-1, as everybody writes it). Keys that are not asked for are taken out of the answer. The number of a subkey is no proof:
anybody can hang somebody's subkey on a key of their own, and the signature that binds the two is not checked here.
"""

import base64
import binascii
import functools
import hashlib
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END = b"-----BEGIN PGP PUBLIC KEY BLOCK-----", b"-----END PGP PUBLIC KEY BLOCK-----"
_KEY = 6
_LINE = 64


class _Packet(NamedTuple):
    tag: int
    body: bytes
    whole: bytes


def only(text: bytes, number: str) -> str:
    """The keys in a block that have this fingerprint, or the end of one, armoured. Raises ValueError if it is not exactly one."""
    found = [key for key in _keys(_dearmoured(text)) if _is_called(key[0], number)]
    if len(found) != 1:
        raise ValueError(f"{len(found)} keys with this number" if found else "no key with this number is in the answer")
    return _armoured(b"".join(packet.whole for packet in found[0]))


def _armoured(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
    lines.append(f"={base64.b64encode(_checksum(data)).decode()}")  # without it gpg takes the last line for data
    return "\n".join([_BEGIN.decode(), "", *lines, _END.decode(), ""])


def _checksum(data: bytes) -> bytes:
    """CRC-24, as OpenPGP defines it."""
    crc, table = 0xB704CE, _remainders()
    for byte in data:
        crc = ((crc << 8) & 0xFFFFFF) ^ table[(crc >> 16) ^ byte]
    return crc.to_bytes(3)


@functools.cache
def _remainders() -> list[int]:
    """What each byte adds to a checksum."""
    found = []
    for byte in range(256):
        crc = byte << 16
        for _ in range(8):
            crc = (crc << 1) ^ (0x1864CFB if crc & 0x800000 else 0)
        found.append(crc)
    return found


def _dearmoured(text: bytes) -> bytes:
    """The data of the first block: it stands behind the first empty line, up to a checksum. Raises ValueError."""
    start = text.find(_BEGIN)
    end = text.find(_END, start)
    lines = [line.strip() for line in text[start:end].splitlines()] if 0 <= start < end else []
    if b"" not in lines:
        raise ValueError("the answer is no key")
    data = [line for line in lines[lines.index(b"") :] if not line.startswith(b"=")]
    try:
        return base64.b64decode(b"".join(data), validate=True)
    except binascii.Error:
        raise ValueError("the answer is no key") from None


def _keys(data: bytes) -> list[list[_Packet]]:
    """Packets by the key they belong to."""
    found: list[list[_Packet]] = []
    for packet in _packets(data):
        if packet.tag == _KEY:
            found.append([])
        if found:
            found[-1].append(packet)
    return found


def _packets(data: bytes) -> Iterator[_Packet]:
    at = 0
    while at < len(data):
        first = data[at]
        if not first & 0x80:
            raise ValueError("the answer is no key")
        tag, size, start = _new(data, at) if first & 0x40 else _old(data, at)
        if start + size > len(data):
            raise ValueError("the answer is cut off")
        yield _Packet(tag, data[start : start + size], data[at : start + size])
        at = start + size


def _new(data: bytes, at: int) -> tuple[int, int, int]:
    """Tag, size of the body, where it starts. Bodies in pieces are for data, never for keys."""
    tag, first = data[at] & 0x3F, _number(data, at + 1, 1)
    if first < 192:
        return tag, first, at + 2
    if first < 224:
        return tag, ((first - 192) << 8) + _number(data, at + 2, 1) + 192, at + 3
    if first < 255:
        raise ValueError("the answer is no key")
    return tag, _number(data, at + 2, 4), at + 6


def _old(data: bytes, at: int) -> tuple[int, int, int]:
    kind = data[at] & 3
    if kind == 3:
        raise ValueError("the answer is no key")
    return (data[at] >> 2) & 0x0F, _number(data, at + 1, 1 << kind), at + 1 + (1 << kind)


def _number(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise ValueError("the answer is cut off")
    return int.from_bytes(data[at : at + size])


def _is_called(packet: _Packet, number: str) -> bool:
    if packet.body[:1] != b"\x04":
        return False
    head = b"\x99" + len(packet.body).to_bytes(2)
    digest = hashlib.sha1(head + packet.body, usedforsecurity=False).hexdigest().upper()
    return digest.endswith(number.upper())
