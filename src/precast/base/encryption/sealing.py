"""Seals small values for a database: encrypted, and authenticated together with the place where they belong.

A sealed value that is moved to another row, changed or cut does not open. Each value has a random nonce, so that sealing the same value
twice gives different bytes, which tell nothing but its length.
"""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from precast.base.encryption.keys import Random

KEY_BYTES = 32
_NONCE_BYTES = 12


class SealBroken(Exception):
    """A value was sealed with another key or for another place, or it is damaged."""


def seal(key: bytes, data: bytes, place: bytes, random: Random = secrets) -> bytes:
    """Encrypt a value for one place."""
    nonce = random.token_bytes(_NONCE_BYTES)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, data, place)


def unseal(key: bytes, sealed: bytes, place: bytes) -> bytes:
    """The value that was sealed for this place. Raises SealBroken."""
    try:
        return ChaCha20Poly1305(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place)
    except (InvalidTag, ValueError):
        raise SealBroken from None


def derive(key: bytes, purpose: str) -> bytes:
    """A key for one purpose. It tells nothing about the key that it is derived from, nor about those for other purposes."""
    return HKDF(hashes.SHA256(), KEY_BYTES, b"", purpose.encode()).derive(key)
