"""Parses OpenPGP public keys far enough to compute their fingerprints: a key server may return any keys, and only the requested one counts.

A fingerprint is a digest of the key itself (version 4: SHA-1), so a key server cannot substitute a key of its own. All other keys are
removed from the response. The id of a subkey proves nothing: anyone can attach another person's subkey to a key of their own, and the
signature that binds the two is not checked here.
"""

import base64
import binascii
import functools
import hashlib
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END = b"-----BEGIN PGP PUBLIC KEY BLOCK-----", b"-----END PGP PUBLIC KEY BLOCK-----"
_KEY, _SUBKEY = 6, 14
_LINE = 64


class _Packet(NamedTuple):
    tag: int
    body: bytes
    whole: bytes


def extract_key(text: bytes, key_id: str) -> str:
    """Return the armoured key in a block whose fingerprint ends with this id. Raises ValueError if not exactly one key matches."""
    matching = [key for key in _group_by_key(_dearmour(text)) if _has_id(key[0], key_id)]
    if len(matching) != 1:
        count = len(matching)
        raise ValueError(
            f"the response contains {count} keys with this id" if count else "the response contains no key with this id"
        )
    return _armour(b"".join(packet.whole for packet in matching[0]))


def list_fingerprints(data: bytes, *, has_subkeys: bool = True) -> list[str]:
    """The fingerprints of all keys in a block or in binary data, and of their subkeys. Raises ValueError for other data."""
    packets = _split_packets(_dearmour(data) if _BEGIN in data else data)
    tags = (_KEY, _SUBKEY) if has_subkeys else (_KEY,)
    found = [_fingerprint(packet) for packet in packets if packet.tag in tags]
    return [fingerprint for fingerprint in found if fingerprint is not None]


def _armour(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    lines.append(
        f"={base64.b64encode(_checksum(data)).decode()}"
    )  # without the checksum, gpg reads the last line as data
    return "\n".join([_BEGIN.decode(), "", *lines, _END.decode(), ""])


def _checksum(data: bytes) -> bytes:
    """Return the CRC-24 that OpenPGP defines."""
    crc, table = 0xB704CE, _build_crc_table()
    for byte in data:
        crc = ((crc << 8) & 0xFFFFFF) ^ table[(crc >> 16) ^ byte]
    return crc.to_bytes(3)


@functools.cache
def _build_crc_table() -> list[int]:
    """Return the CRC remainder of each byte value."""
    table = []
    for byte in range(256):
        crc = byte << 16
        for _ in range(8):
            crc = (crc << 1) ^ (0x1864CFB if crc & 0x800000 else 0)
        table.append(crc)
    return table


def _dearmour(text: bytes) -> bytes:
    """Return the data of the first block: it starts after the first empty line and ends before the checksum. Raises ValueError."""
    start = text.find(_BEGIN)
    end = text.find(_END, start)
    lines = [line.strip() for line in text[start:end].splitlines()] if 0 <= start < end else []
    if b"" not in lines:
        raise ValueError("the response is not a valid key")
    data = [line for line in lines[lines.index(b"") :] if not line.startswith(b"=")]
    try:
        return base64.b64decode(b"".join(data), validate=True)
    except binascii.Error:
        raise ValueError("the response is not a valid key") from None


def _group_by_key(data: bytes) -> list[list[_Packet]]:
    """Group the packets by the key to which they belong."""
    keys: list[list[_Packet]] = []
    for packet in _split_packets(data):
        if packet.tag == _KEY:
            keys.append([])
        if keys:
            keys[-1].append(packet)
    return keys


def _split_packets(data: bytes) -> Iterator[_Packet]:
    offset = 0
    while offset < len(data):
        first = data[offset]
        if not first & 0x80:
            raise ValueError("the response is not a valid key")
        tag, size, start = _parse_new_header(data, offset) if first & 0x40 else _parse_old_header(data, offset)
        if start + size > len(data):
            raise ValueError("the response is truncated")
        yield _Packet(tag, data[start : start + size], data[offset : start + size])
        offset = start + size


def _parse_new_header(data: bytes, offset: int) -> tuple[int, int, int]:
    """Return the tag, the size of the body and its offset. Partial bodies are only valid for data packets, not for keys."""
    tag, first = data[offset] & 0x3F, _read_number(data, offset + 1, 1)
    if first < 192:
        return tag, first, offset + 2
    if first < 224:
        return tag, ((first - 192) << 8) + _read_number(data, offset + 2, 1) + 192, offset + 3
    if first < 255:
        raise ValueError("the response is not a valid key")
    return tag, _read_number(data, offset + 2, 4), offset + 6


def _parse_old_header(data: bytes, offset: int) -> tuple[int, int, int]:
    kind = data[offset] & 3
    if kind == 3:
        raise ValueError("the response is not a valid key")
    return (data[offset] >> 2) & 0x0F, _read_number(data, offset + 1, 1 << kind), offset + 1 + (1 << kind)


def _read_number(data: bytes, offset: int, size: int) -> int:
    if offset + size > len(data):
        raise ValueError("the response is truncated")
    return int.from_bytes(data[offset : offset + size])


def _has_id(packet: _Packet, key_id: str) -> bool:
    fingerprint = _fingerprint(packet)
    return fingerprint is not None and fingerprint.endswith(key_id.upper())


def _fingerprint(packet: _Packet) -> str | None:
    """The fingerprint of a key of version 4; None for another."""
    if packet.body[:1] != b"\x04":
        return None
    head = b"\x99" + len(packet.body).to_bytes(2)
    return hashlib.sha1(head + packet.body, usedforsecurity=False).hexdigest().upper()
