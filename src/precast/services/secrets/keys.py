"""The keys of secrets: master keys, which are outside the database, and the keys of an environment, which a master key wraps.

A master key is written as one line of text with a checksum. A key file has one or several: the first wraps, the others only open what
they have wrapped. Every environment has a random key of its own, from which the keys for each purpose are derived.
"""

import hashlib
import hmac
from typing import Final, NamedTuple

from precast.base.encryption import bech32
from precast.base.encryption.keys import Random
from precast.base.encryption.sealing import KEY_BYTES, SealBroken, derive, seal, unseal
from precast.catalog.secret_references import make_reference

_PREFIX: Final = "precast-secrets-key-"
_ID_BYTES: Final = 6
MAX_KEYS: Final = 16


class MasterKey(NamedTuple):
    """A master key. Its id tells nothing about it."""

    key: bytes

    @classmethod
    def new(cls, random: Random) -> "MasterKey":
        return cls(random.token_bytes(KEY_BYTES))

    @property
    def id(self) -> str:
        return derive(self.key, "precast secrets: id").hex()[: 2 * _ID_BYTES]

    @property
    def line(self) -> str:
        """The key as a line of a key file."""
        return bech32.encode(_PREFIX, self.key).upper()

    def wrap(self, environment: str, key: bytes, random: Random) -> bytes:
        return seal(self.key, key, _wrap_place(environment), random)

    def unwrap(self, environment: str, wrapped: bytes) -> bytes:
        """Raises SealBroken."""
        return unseal(self.key, wrapped, _wrap_place(environment))


def parse_master_keys(text: str) -> tuple[MasterKey, ...]:
    """Read the keys of a key file, one in a line, with comments after `#`. Raises ValueError, whose text has nothing of a key."""
    lines = [line for part in text.splitlines() if (line := part.partition("#")[0].strip())]
    if not lines:
        raise ValueError("it contains no key")
    if len(lines) > MAX_KEYS:
        raise ValueError(f"it contains more than {MAX_KEYS} keys")
    keys = []
    for line in lines:
        try:
            key = MasterKey(bech32.decode(_PREFIX, line))
        except ValueError:
            raise ValueError("a line of it is not a secrets key, or has a typing error") from None
        if len(key.key) != KEY_BYTES:
            raise ValueError(f"a key must have {KEY_BYTES} bytes")
        keys.append(key)
    return tuple(dict.fromkeys(keys))


class EnvironmentKeys(NamedTuple):
    """The keys of one environment, one for each purpose.

    `answer` authenticates answers of traces about data, whose plain digests would tell a short value.
    """

    environment: str
    reference: bytes
    answer: bytes
    value: bytes

    @classmethod
    def derived(cls, environment: str, key: bytes) -> "EnvironmentKeys":
        """The keys that are derived from the random key of an environment."""
        purposes = (derive(key, f"precast secrets: {purpose}") for purpose in ("reference", "answer", "value"))
        return cls(environment, *purposes)

    def salt(self, value: bytes) -> bytes:
        """What a node needs beside a value in canonical JSON to verify its reference; it is never stored."""
        return hmac.digest(self.reference, value, hashlib.sha256)

    def refer(self, value: bytes) -> str:
        """The reference of a value in canonical JSON."""
        return make_reference(self.salt(value), value)

    def seal(self, ref: str, value: bytes, random: Random) -> bytes:
        return seal(self.value, value, self._place(ref), random)

    def unseal(self, ref: str, sealed: bytes) -> bytes:
        """The value with this reference. Raises SealBroken, also if the value is another one's."""
        value = unseal(self.value, sealed, self._place(ref))
        if not hmac.compare_digest(self.refer(value), ref):
            raise SealBroken
        return value

    def _place(self, ref: str) -> bytes:
        return f"precast secret {self.environment} {ref}".encode()


def _wrap_place(environment: str) -> bytes:
    return f"precast environment key {environment}".encode()
