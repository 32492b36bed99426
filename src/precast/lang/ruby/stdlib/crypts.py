"""Password hashes in the format of the C library's crypt: md5 ($1$), sha-256 ($5$), sha-512 ($6$).

They are written by hand because Python removes its own module, and a compile must not depend on the library of the system.
"""

import functools
import hashlib
from collections.abc import Sequence
from typing import Final

_LETTERS: Final = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ROUNDS: Final = 5000
_MD5_ROUNDS: Final = 1000
_LONGEST_SALT: Final = {"1": 8, "5": 16, "6": 16}
# The order in which groups of three bytes are written; the last group may have fewer.
_ORDERS: Final[dict[str, Sequence[tuple[int, ...]]]] = {
    "1": [(0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5), (11,)],
    "5": [*(((at * 21) % 30, (at * 21 + 10) % 30, (at * 21 + 20) % 30) for at in range(10)), (31, 30)],
    "6": [*(((at * 22) % 63, (at * 22 + 21) % 63, (at * 22 + 42) % 63) for at in range(21)), (63,)],
}


@functools.lru_cache(maxsize=1024)
def crypt(password: str, prefix: str, salt: str) -> str:
    """Return the hash of a password in the format of /etc/shadow."""
    salt = salt[: _LONGEST_SALT[prefix]]
    secret, salt_bytes = password.encode(), salt.encode()
    algorithm = "sha256" if prefix == "5" else "sha512"
    digest = _md5(secret, salt_bytes) if prefix == "1" else _sha(secret, salt_bytes, algorithm)
    return f"${prefix}${salt}${''.join(_group([digest[at] for at in group]) for group in _ORDERS[prefix])}"


def _group(data: list[int]) -> str:
    number = 0
    for byte in data:
        number = number << 8 | byte
    return "".join(_LETTERS[number >> 6 * at & 63] for at in range(len(data) + 1))


def _repeat_to(data: bytes, count: int) -> bytes:
    return (data * (count // len(data) + 1))[:count] if data else b""


def _sha(secret: bytes, salt: bytes, algorithm: str) -> bytes:
    def digest(data: bytes) -> bytes:
        return hashlib.new(algorithm, data).digest()

    alternate = digest(secret + salt + secret)
    start = secret + salt + _repeat_to(alternate, len(secret))
    bits = len(secret)
    while bits:
        start += alternate if bits & 1 else secret
        bits >>= 1
    state = digest(start)
    secret_digest = _repeat_to(digest(secret * len(secret)), len(secret))
    salt_digest = _repeat_to(digest(salt * (16 + state[0])), len(salt))
    for turn in range(_ROUNDS):
        mixed = secret_digest if turn & 1 else state
        mixed += (salt_digest if turn % 3 else b"") + (secret_digest if turn % 7 else b"")
        state = digest(mixed + (state if turn & 1 else secret_digest))
    return state


def _md5(secret: bytes, salt: bytes) -> bytes:
    def digest(data: bytes) -> bytes:
        return hashlib.md5(data, usedforsecurity=False).digest()

    start = secret + b"$1$" + salt + _repeat_to(digest(secret + salt + secret), len(secret))
    bits = len(secret)
    while bits:
        start += b"\0" if bits & 1 else secret[:1]
        bits >>= 1
    state = digest(start)
    for turn in range(_MD5_ROUNDS):
        mixed = (secret if turn & 1 else state) + (salt if turn % 3 else b"") + (secret if turn % 7 else b"")
        state = digest(mixed + (state if turn & 1 else secret))
    return state
