"""What a file is encrypted to: a passphrase, or the public keys of recipients; and what opens it again.

Each wraps the key of the file in a stanza of the file's header. A passphrase is stretched by scrypt. A recipient is an X25519 key: only
the public half is needed to encrypt, so a machine that takes backups cannot read them.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from precast.base.encryption import bech32, text64

FILE_KEY_BYTES = 16
_ZERO_NONCE = bytes(12)
_X25519 = "X25519"
_SCRYPT = "scrypt"
_RECIPIENT, _IDENTITY = "age", "age-secret-key-"
_LABEL = b"age-encryption.org/v1/"
# The work of scrypt, as a power of two: 256 MiB of memory for about a second. Files that demand more than 1 GiB are refused.
WORK = 18
MAX_WORK = 20


class Stanza(NamedTuple):
    """A wrapped key of a file."""

    arguments: list[str]
    body: bytes


class Random(Protocol):
    """The standard library's `secrets` module, or a test's replacement."""

    def token_bytes(self, nbytes: int) -> bytes:
        """Return `nbytes` unpredictable bytes."""


class Lock(Protocol):
    """Encrypts the key of a file."""

    def wrap(self, file_key: bytes, random: Random) -> list[Stanza]:
        """The stanzas that contain the key."""


class Opener(Protocol):
    """Decrypts the key of a file."""

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        """The key; None if no stanza is for this opener. Raises ValueError for a stanza that is invalid."""


class Passphrase(NamedTuple):
    """A passphrase, which encrypts and decrypts."""

    secret: bytes
    work: int = WORK

    def wrap(self, file_key: bytes, random: Random) -> list[Stanza]:
        salt = random.token_bytes(16)
        wrapped = ChaCha20Poly1305(self._stretch(salt, self.work)).encrypt(_ZERO_NONCE, file_key, None)
        return [Stanza([_SCRYPT, text64.encode(salt), str(self.work)], wrapped)]

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        if not any(stanza.arguments[0] == _SCRYPT for stanza in stanzas):
            return None
        if (
            len(stanzas) != 1
            or len(stanzas[0].arguments) != 3
            or not re.fullmatch("[1-9][0-9]?", stanzas[0].arguments[2])
        ):
            raise ValueError("its header is damaged")
        (_, encoded_salt, work), body = stanzas[0]
        salt = text64.decode(encoded_salt)
        if len(salt) != 16 or len(body) != FILE_KEY_BYTES + 16:
            raise ValueError("its header is damaged")
        if int(work) > MAX_WORK:
            raise ValueError(f"its passphrase demands more memory than allowed (2^{work})")
        return _decrypt(self._stretch(salt, int(work)), body)

    def _stretch(self, salt: bytes, work: int) -> bytes:
        n = 1 << work
        return hashlib.scrypt(
            self.secret, salt=_LABEL + b"scrypt" + salt, n=n, r=8, p=1, maxmem=130 * 8 * n + 65536, dklen=32
        )


class Recipients(NamedTuple):
    """The public keys of those who may decrypt a file."""

    keys: tuple[X25519PublicKey, ...]

    @classmethod
    def parse(cls, texts: Sequence[str]) -> "Recipients":
        """Read keys of the form age1…. Raises ValueError."""
        return cls(tuple(X25519PublicKey.from_public_bytes(bech32.decode(_RECIPIENT, text)) for text in texts))

    def wrap(self, file_key: bytes, random: Random) -> list[Stanza]:
        stanzas = []
        for key in self.keys:
            ephemeral = X25519PrivateKey.from_private_bytes(random.token_bytes(32))
            share = ephemeral.public_key().public_bytes_raw()
            wrapping = _derive_wrapping(ephemeral.exchange(key), share, key.public_bytes_raw())
            wrapped = ChaCha20Poly1305(wrapping).encrypt(_ZERO_NONCE, file_key, None)
            stanzas.append(Stanza([_X25519, text64.encode(share)], wrapped))
        return stanzas


class Identity(NamedTuple):
    """The private key of a recipient."""

    key: X25519PrivateKey

    @classmethod
    def new(cls, random: Random) -> "Identity":
        return cls(X25519PrivateKey.from_private_bytes(random.token_bytes(32)))

    @classmethod
    def parse(cls, file: str) -> "Identity":
        """Read the first key of a file as `age-keygen` writes it. Raises ValueError."""
        lines = [line.strip() for line in file.splitlines()]
        words = [line for line in lines if line and not line.startswith("#")]
        if not words:
            raise ValueError("it contains no key")
        return cls(X25519PrivateKey.from_private_bytes(bech32.decode(_IDENTITY, words[0])))

    @property
    def text(self) -> str:
        return bech32.encode(_IDENTITY, self.key.private_bytes_raw()).upper()

    @property
    def recipient(self) -> str:
        return bech32.encode(_RECIPIENT, self.key.public_key().public_bytes_raw())

    def unwrap(self, stanzas: Sequence[Stanza]) -> bytes | None:
        own = self.key.public_key().public_bytes_raw()
        for arguments, body in stanzas:
            if arguments[0] != _X25519:
                continue
            share = text64.decode(arguments[1]) if len(arguments) == 2 else b""
            if len(share) != 32 or len(body) != FILE_KEY_BYTES + 16:
                raise ValueError("its header is damaged")
            # `exchange` raises ValueError for a share that would give a secret of zeros.
            wrapping = _derive_wrapping(self.key.exchange(X25519PublicKey.from_public_bytes(share)), share, own)
            if (file_key := _decrypt(wrapping, body)) is not None:
                return file_key
        return None


def _derive_wrapping(secret: bytes, share: bytes, recipient: bytes) -> bytes:
    return HKDF(hashes.SHA256(), 32, share + recipient, _LABEL + b"X25519").derive(secret)


def _decrypt(key: bytes, body: bytes) -> bytes | None:
    try:
        return ChaCha20Poly1305(key).decrypt(_ZERO_NONCE, body, None)
    except InvalidTag:
        return None
