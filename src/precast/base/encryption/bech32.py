"""Bech32, the text form of age's keys: a prefix, the digit 1, and characters with a checksum that finds typing errors."""

from collections.abc import Iterable

_CHARACTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM = 6
MAX_LENGTH = 200


def encode(prefix: str, data: bytes) -> str:
    """Write bytes as text in lower case."""
    values = list(_regroup(data, 8, 5, is_padded=True))
    remainder = _checksum([*_expand(prefix), *values, *[0] * _CHECKSUM]) ^ 1
    values += [remainder >> 5 * (_CHECKSUM - 1 - place) & 31 for place in range(_CHECKSUM)]
    return f"{prefix}1{''.join(_CHARACTERS[value] for value in values)}"


def decode(prefix: str, text: str) -> bytes:
    """Read the bytes of a text with this prefix, in lower or upper case. Raises ValueError."""
    word = text.lower()
    found, _, characters = word.rpartition("1")
    if text not in (word, word.upper()) or found != prefix or not _CHECKSUM <= len(characters) <= MAX_LENGTH:
        raise ValueError(f"it does not begin with {prefix}1")
    values = [_CHARACTERS.find(character) for character in characters]
    if -1 in values or _checksum([*_expand(prefix), *values]) != 1:
        raise ValueError("it contains a typing error")
    return bytes(_regroup(values[:-_CHECKSUM], 5, 8, is_padded=False))


def _expand(prefix: str) -> list[int]:
    return [*(ord(character) >> 5 for character in prefix), 0, *(ord(character) & 31 for character in prefix)]


def _checksum(values: Iterable[int]) -> int:
    remainder = 1
    for value in values:
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for place, term in enumerate(_GENERATOR):
            remainder ^= term if top >> place & 1 else 0
    return remainder


def _regroup(values: Iterable[int], old_bits: int, new_bits: int, *, is_padded: bool) -> Iterable[int]:
    """Regroup bits. Raises ValueError if bits are left over that are not padding."""
    held, bits = 0, 0
    for value in values:
        held, bits = held << old_bits | value, bits + old_bits
        while bits >= new_bits:
            bits -= new_bits
            yield held >> bits
            held &= (1 << bits) - 1
    if is_padded and bits:
        yield held << new_bits - bits
    elif not is_padded and (bits >= old_bits or held):
        raise ValueError("it contains a typing error")
