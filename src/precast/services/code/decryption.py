"""Decrypts values of data files with the key pairs that the options of hiera-eyaml name.

A command uses files of its machine, at the paths in the options. A server uses only files of its key directory for the environment: an
option names one by the last part of its path, so code cannot name a file elsewhere. A pair is cached until one of its files changes.
Errors contain neither keys nor decrypted values.
"""

import posixpath
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from precast.base import digests
from precast.base.errors import PrecastError
from precast.lang.hiera import issues

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_PRIVATE = "pkcs7_private_key"
_PUBLIC = "pkcs7_public_key"
MAX_KEY_BYTES = 64 * 1024
# Code chooses the names. A longer one names no file of a key directory.
MAX_NAME_CHARS = 200
SHOWN_CHARS = 500
# Pairs that are cached; then all are read again when they are next needed.
MAX_PAIRS = 64
# Part of the answer for a pair that cannot be used: the error itself is raised when a value needs the pair.
_UNUSABLE = "unusable: "

# The times and sizes of the files of a pair: the pair is read again when they change.
_State = tuple[tuple[int, int, int] | None, ...]


class _Pair(NamedTuple):
    private: Any
    certificate: "Certificate"
    fingerprint: str


class KeyFiles:
    """Key pairs in files. `find` gives the file for a path in the options."""

    def __init__(self, find: Callable[[str], Path]) -> None:
        self._find = find
        self._pairs: dict[tuple[Path | None, ...], tuple[_State, _Pair | PrecastError]] = {}

    @staticmethod
    def below(base: Path) -> "KeyFiles":
        """Files at their paths. A relative path is relative to `base`, the working directory, as in hiera-eyaml."""
        return KeyFiles(lambda name: base / name)

    def fingerprint(self, options: Mapping[str, str]) -> str | None:
        """The fingerprint of the public key; None if the options name no private key. Raises InputError HIERA-053 for an invalid pair."""
        return None if not options.get(_PRIVATE) else self._pair(options).fingerprint

    def decrypt(self, data: bytes, options: Mapping[str, str]) -> bytes:
        """Decrypt a PKCS7 envelope. Raises InputError HIERA-052."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import pkcs7

        pair = self._pair(options)
        try:
            return pkcs7.pkcs7_decrypt_der(data, pair.certificate, pair.private, [])
        except UnsupportedAlgorithm:
            reason = "it is encrypted with a cipher other than AES-128-CBC or AES-256-CBC"
        except ValueError:
            # The text of the exception may reveal content, so only the two possible reasons are reported.
            reason = "it is damaged, or was encrypted for another key"
        raise issues.NOT_DECRYPTED.error(reason=reason)

    def _pair(self, options: Mapping[str, str]) -> _Pair:
        names = (options.get(_PRIVATE, ""), options.get(_PUBLIC, ""))
        files = tuple(self._find(name) if name else None for name in names)
        state = tuple(None if file is None else _state(file) for file in files)
        known, pair = self._pairs.get(files, (None, None))
        if pair is None or known != state:
            try:
                pair = self._read(*names)
            except PrecastError as error:
                pair = error
            if len(self._pairs) >= MAX_PAIRS:
                self._pairs.clear()
            self._pairs[files] = state, pair
        if isinstance(pair, PrecastError):
            raise pair.copy()
        return pair

    def _read(self, private_name: str, public_name: str) -> _Pair:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization

        if not public_name:
            raise issues.BAD_KEY_PAIR.error(path=private_name, reason=f"{_PUBLIC} is not given")
        try:
            private = serialization.load_pem_private_key(self._bytes(private_name), None)
        except (ValueError, TypeError):
            raise issues.BAD_KEY_PAIR.error(
                path=private_name, reason="it is not a private key in PEM without a password"
            ) from None
        try:
            certificate = x509.load_pem_x509_certificate(self._bytes(public_name))
        except ValueError:
            raise issues.BAD_KEY_PAIR.error(path=public_name, reason="it is not a certificate in PEM") from None
        form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        public = private.public_key().public_bytes(*form)
        if certificate.public_key().public_bytes(*form) != public:
            raise issues.BAD_KEY_PAIR.error(path=public_name, reason=f"it does not belong to {private_name}")
        return _Pair(private, certificate, digests.of_bytes(public))

    def _bytes(self, name: str) -> bytes:
        try:
            with self._find(name).open("rb") as file:
                return file.read(MAX_KEY_BYTES)
        except OSError as error:
            raise issues.BAD_KEY_PAIR.error(path=name, reason=error.strerror or str(error)) from None


class ServerKeys:
    """The key pairs of one environment on a server, in a directory of their own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files = KeyFiles(self._find)

    def fingerprint(self, options: Mapping[str, str]) -> str | None:
        """The fingerprint of the public key, None if the directory has no such private key; for an unusable pair, its reason."""
        name = options.get(_PRIVATE)
        try:
            if not name or not self._has_private_key(name):
                return None
            return self._files.fingerprint(options)
        except PrecastError as error:
            return f"{_UNUSABLE}{error.message}"

    def decrypt(self, data: bytes, options: Mapping[str, str]) -> bytes:
        """Decrypt a PKCS7 envelope. Raises InputError HIERA-052, HIERA-053."""
        self._has_private_key(options.get(_PRIVATE, ""))
        return self._files.decrypt(data, options)

    def _has_private_key(self, name: str) -> bool:
        """Whether there is such a file. Raises InputError HIERA-053 for a private key that others may read or change."""
        try:
            mode = self._find(name).stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise issues.BAD_KEY_PAIR.error(path=name[:SHOWN_CHARS], reason=error.strerror or str(error)) from None
        if stat.S_ISREG(mode) and mode & (stat.S_IRWXO | stat.S_IWGRP):
            raise issues.BAD_KEY_PAIR.error(
                path=name, reason="its mode must be 0600 or 0640, so that others cannot read it"
            )
        return stat.S_ISREG(mode)

    def _find(self, name: str) -> Path:
        """The file in the directory. A name without a last part, or with one that leads elsewhere, gives a file that cannot exist."""
        last = posixpath.basename(name)
        is_name = last not in ("", ".", "..") and "\0" not in last and len(last) <= MAX_NAME_CHARS
        return self._directory / (last if is_name else "no such name/x")


class KeyDirectory:
    """The key pairs of all environments of a server: a directory for each, with the name of the environment."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._keys: dict[str, ServerKeys] = {}

    def find(self, environment: str) -> ServerKeys:
        """The keys of an environment, whose name has been checked."""
        if environment not in self._keys:
            self._keys[environment] = ServerKeys(self._root / environment)
        return self._keys[environment]


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
