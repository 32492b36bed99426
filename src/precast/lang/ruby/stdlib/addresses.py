"""IP addresses and networks as Ruby's IPAddr reads and writes them."""

import re
from typing import Any, Final, NamedTuple

_IPV4: Final = re.compile(r"\d+\.\d+\.\d+\.\d+", re.ASCII)
_WORD: Final = r"[0-9a-fA-F]{1,4}"
_FULL: Final = re.compile(rf"(?:{_WORD}:){{7}}{_WORD}")
_COMPRESSED: Final = re.compile(rf"((?:{_WORD}:)*{_WORD})?::((?:{_WORD}:)*{_WORD})?")
_ZONED: Final = re.compile(r"(.*)(%\w+)", re.DOTALL)
_EMBEDDED: Final = re.compile(r"::(ffff:)?([\da-f]{1,4}):([\da-f]{1,4})")


class Address(NamedTuple):
    """A network, or a single address as a network of full length."""

    number: int
    bits: int  # 32 or 128
    length: int
    zone: str = ""

    @property
    def is_ipv6(self) -> bool:
        return self.bits == 128

    @property
    def last(self) -> int:
        return self.number | (1 << self.bits - self.length) - 1

    def includes(self, other: "Address") -> bool:
        return self.bits == other.bits and self.number <= other.number and other.last <= self.last

    def __str__(self) -> str:
        return (_ipv6_text(self.number) + self.zone) if self.is_ipv6 else _ipv4_text(self.number)


def parse_address(value: Any) -> Address | None:
    """Return what IPAddr.new makes of a value, None where it would raise."""
    if not isinstance(value, str):
        return None
    text, slash, mask = value.partition("/")
    in_brackets = text.startswith("[") and text.endswith("]") and len(text) > 1
    text = text[1:-1] if in_brackets else text
    zoned = _ZONED.fullmatch(text)
    text, zone = (zoned[1], zoned[2]) if zoned else (text, "")
    if not in_brackets and _IPV4.fullmatch(text):
        number, bits = _ipv4(text), 32
    else:
        number, bits = _ipv6(text), 128
    if number is None or (zone and bits == 32):
        return None
    return _apply_mask(Address(number, bits, bits, zone), mask) if slash else Address(number, bits, bits, zone)


def _apply_mask(whole: Address, mask: str) -> Address | None:
    if mask.isascii() and mask.isdigit():
        length: int | None = int(mask) if len(mask) < 4 else None
    else:
        as_address = parse_address(mask)
        if as_address is None or as_address.bits != whole.bits:
            return None
        length = as_address.number.bit_count()
        if as_address.number != _ones(length, whole.bits):
            return None
    if length is None or length > whole.bits:
        return None
    return whole._replace(number=whole.number & _ones(length, whole.bits), length=length)


def _ones(count: int, bits: int) -> int:
    return (1 << bits) - (1 << bits - count)


def _ipv4(text: str) -> int | None:
    number = 0
    for part in text.split("."):
        if len(part) > 3 or int(part) > 255 or (len(part) > 1 and part[0] == "0"):
            return None
        number = number << 8 | int(part)
    return number


def _ipv6(text: str) -> int | None:
    head, colon, tail = text.rpartition(":")
    if colon and _IPV4.fullmatch(tail):
        inner = _ipv4(tail)
        if inner is None:
            return None
        text = f"{head}:{inner >> 16:x}:{inner & 0xFFFF:x}"
    if _FULL.fullmatch(text):
        words = text.split(":")
    elif match := _COMPRESSED.fullmatch(text):
        left, right = ((part or "").split(":") if part else [] for part in match.groups())
        if len(left) + len(right) > 8:
            return None
        words = [*left, *["0"] * (8 - len(left) - len(right)), *right]
    else:
        return None
    number = 0
    for word in words:
        number = number << 16 | int(word, 16)
    return number


def _ipv4_text(number: int) -> str:
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def _ipv6_text(number: int) -> str:
    text = ":".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
    for count in range(8, 1, -1):
        zeros = ":".join("0" * count)
        shorter = re.sub(rf"(?<![\da-f]){zeros}(?![\da-f])", "::" if count == 8 else ":", text, count=1)
        if shorter != text:
            text = shorter
            break
    text = re.sub(":{3,}", "::", text)
    if match := _EMBEDDED.fullmatch(text):
        low = int(match[2], 16) << 16 | int(match[3], 16)
        return f"::{match[1] or ''}{_ipv4_text(low)}"
    return text
