"""Reads the authority of a Puppet server, so that its agents need not be enrolled anew.

The layout is Puppet's own: `ca_crt.pem` (the certificate that signs, then those above it), `ca_key.pem`, `ca_crl.pem`,
`inventory.txt`, `signed/NAME.pem`. Its key signs once, that ours takes its place, and is not kept. What cannot be believed stops
the import; a single certificate that cannot be used is left out and named.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from precast.base.errors import PrecastError
from precast.services import issues
from precast.services.identity import certificates, extensions
from precast.services.identity.authority import Authority, cross_sign, is_issued_by
from precast.services.identity.issuance import GRACE_S
from precast.store.identity.certificates import Certificate
from precast.wire.identity.names import check_name

T = TypeVar("T")

SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
# OpenSSL refuses shorter ones as it is set up by default.
MIN_RSA_BITS = 2048
REVOKED_WHY = "revoked in Puppet"


class LeftOut(NamedTuple):
    """A certificate that is not taken over, and why."""

    name: str
    reason: str


class Unusable(Exception):
    """Why one certificate is left out."""


class PuppetCa:
    """A Puppet authority, as its files say."""

    def __init__(self, directory: Path) -> None:
        """Raises InputError CA-016 if it is not one, or cannot be believed."""
        self._directory = directory
        # The one that signs, then what is above it.
        self.path = _reading(directory / "ca_crt.pem", x509.load_pem_x509_certificates)
        key = _reading(directory / "ca_key.pem", lambda data: serialization.load_pem_private_key(data, password=None))
        if not isinstance(key, SigningKey) or key.public_key() != self.certificate.public_key():
            raise self._bad("ca_key.pem", "it does not belong to the first certificate in ca_crt.pem")
        if isinstance(key, rsa.RSAPrivateKey) and key.key_size < MIN_RSA_BITS:
            raise self._bad("ca_key.pem", f"it has {key.key_size} bits, and TLS takes none below {MIN_RSA_BITS}")
        self._key = key
        for lower, upper in zip(self.path, self.path[1:], strict=False):
            if not is_issued_by(lower, upper):
                raise self._bad("ca_crt.pem", "its certificates do not follow from each other")
        if not is_issued_by(self.path[-1], self.path[-1]):
            raise self._bad("ca_crt.pem", "the root certificate is missing")
        self._revoked = self._read_revoked()

    @property
    def certificate(self) -> x509.Certificate:
        return self.path[0]

    def successor(self, now: datetime) -> Authority:
        """A new authority that this one has signed, and which trusts it."""
        # An authority that allows none below it still allows one of its own name.
        limit = self.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length
        new = Authority.new(now, self.certificate.subject if limit == 0 else None)
        signature = cross_sign(self._key, self.certificate, new, now)
        return Authority(new.key, new.certificate, self.path, [signature, *self.path[:-1]])

    def read_nodes(self, now: datetime) -> tuple[list[Certificate], list[LeftOut]]:
        """The certificates of its agents that are good or revoked, and what is left out."""
        taken: dict[str, Certificate] = {}
        left: list[LeftOut] = []
        for file in sorted((self._directory / "signed").glob("*.pem")):
            try:
                one = self._read_node(file, now)
                taken[one.serial] = one
            except (PrecastError, Unusable) as error:
                left.append(LeftOut(file.name, str(error)))
            except (ValueError, OSError):
                left.append(LeftOut(file.name, "it is not a certificate in PEM"))
        named = {one.name.removesuffix(".pem") for one in left}
        for serial, name in self._inventory():
            if serial not in taken and name not in named:
                left.append(LeftOut(name, f"the file of its certificate {serial} is missing"))
        return list(taken.values()), left

    def _read_node(self, file: Path, now: datetime) -> Certificate:
        found = x509.load_pem_x509_certificate(file.read_bytes())
        node = check_name(certificates.common_name(found))
        if not is_issued_by(found, self.certificate):
            raise Unusable("it is not of this authority")
        if found.not_valid_after_utc + timedelta(seconds=GRACE_S) <= now:
            raise Unusable("it has ended")
        is_revoked = found.serial_number in self._revoked
        return Certificate(
            serial=certificates.serial_text(found),
            node=node,
            key_digest=certificates.key_digest(found),
            extensions=extensions.from_x509(found),
            issued_at=found.not_valid_before_utc,
            not_after=found.not_valid_after_utc,
            revoked_at=now if is_revoked else None,
            revoked_why=REVOKED_WHY if is_revoked else None,
            authority=certificates.fingerprint(self.certificate),
        )

    def _read_revoked(self) -> set[int]:
        """Serials on the list of the authority that signs. Without that list nobody could be told from the revoked."""
        data = _reading(self._directory / "ca_crl.pem", bytes.decode)
        for block in data.split("-----BEGIN X509 CRL-----")[1:]:
            try:
                found = x509.load_pem_x509_crl(b"-----BEGIN X509 CRL-----" + block.encode())
                key = self.certificate.public_key()
                assert isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey), "its private key was looked at"
                if found.issuer == self.certificate.subject and found.is_signature_valid(key):
                    return {one.serial_number for one in found}
            except (ValueError, TypeError):
                continue
        raise self._bad("ca_crl.pem", "it holds no list of revoked certificates by this authority")

    def _inventory(self) -> list[tuple[str, str]]:
        """Serial and name of everything it ever gave that is not revoked; `0x0002 FROM UNTIL /CN=name`. It may be missing."""
        try:
            lines = (self._directory / "inventory.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            words = line.split()
            if len(words) == 4 and words[0].lower().startswith("0x") and words[3].startswith("/CN="):
                serial = words[0][2:].lower().lstrip("0")
                if serial and set(serial) <= set("0123456789abcdef") and int(serial, 16) not in self._revoked:
                    found.append((serial, words[3].removeprefix("/CN=")))
        return found

    def _bad(self, file: str, reason: str) -> PrecastError:
        return issues.NO_PUPPET_CA.error(path=self._directory / file, reason=reason)


def _reading(path: Path, parse: Callable[[bytes], T]) -> T:
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise issues.NO_PUPPET_CA.error(path=path, reason=error.strerror) from error
    except (ValueError, TypeError) as error:  # TypeError: a key with a password
        raise issues.NO_PUPPET_CA.error(path=path, reason="it is not readable as PEM without a password") from error
