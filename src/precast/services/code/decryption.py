"""Decrypts values of data files with the key pairs that the options of hiera-eyaml name on this machine.

A pair is read when a value needs it and cached in the process. Errors contain neither keys nor decrypted values.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from precast.base import digests
from precast.base.errors import PrecastError
from precast.lang.hiera import issues

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_PRIVATE = "pkcs7_private_key"
_PUBLIC = "pkcs7_public_key"


class _Pair(NamedTuple):
    private: Any
    certificate: "Certificate"
    fingerprint: str


class KeyFiles:
    """Key pairs in files. A relative path is relative to `base`, the working directory, as in hiera-eyaml."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._pairs: dict[tuple[str, str], _Pair | PrecastError] = {}

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
        if names not in self._pairs:
            try:
                self._pairs[names] = self._read(*names)
            except PrecastError as error:
                self._pairs[names] = error
        pair = self._pairs[names]
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
            return (self._base / name).read_bytes()
        except OSError as error:
            raise issues.BAD_KEY_PAIR.error(path=name, reason=error.strerror or str(error)) from None
