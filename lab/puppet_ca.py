"""Writes a Puppet authority in Puppet's file layout, and the files of its agents, because a real Puppet CA takes minutes."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ARC = "1.3.6.1.4.1.34380.1"
PEM = serialization.Encoding.PEM


class PuppetAuthority:
    """`cadir` gets ca_crt.pem, ca_key.pem, ca_crl.pem, inventory.txt, serial, signed/; each agent an ssldir."""

    def __init__(
        self,
        cadir: Path,
        *,
        has_intermediate: bool = True,
        below: "PuppetAuthority | None" = None,
        name: str = "puppet",
    ) -> None:
        """With `below`, its root signs this authority too: the two are siblings."""
        self.cadir = cadir
        (cadir / "signed").mkdir(parents=True)
        self._serial = 0
        self._now = datetime.now(UTC)
        self._revoked: list[int] = []
        root_key = below.root_key if below is not None else new_key()
        root = (
            below.path[-1] if below is not None else self._authority("Puppet Root CA: 5cf2d0", root_key, None, root_key)
        )
        self.root_key: rsa.RSAPrivateKey = root_key
        self.path: list[x509.Certificate] = [root]
        self.key = root_key
        if has_intermediate:
            self.key = new_key()
            self.path = [self._authority(f"Puppet CA: {name}.example.com", self.key, root, root_key), root]
        (cadir / "ca_crt.pem").write_bytes(b"".join(certificate.public_bytes(PEM) for certificate in self.path))
        (cadir / "ca_key.pem").write_bytes(key_pem(self.key))
        self._lists = [self._list(root, root_key)] if has_intermediate else []
        self._write_lists()

    def sign(
        self,
        ssldir: Path,
        name: str,
        days: int = 1825,
        *,
        serial: int | None = None,
        is_local: bool = False,
        **extensions: str,
    ) -> x509.Certificate:
        """Sign an agent's certificate; with `is_local` it is valid for a server on this machine too.

        Extensions are named by the end of their OID, such as _1_13 for pp_role.
        """
        key = new_key()
        local = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))] if is_local else []
        builder = (
            self._builder(name, self.path[0].subject, key, days, serial)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=True
            )
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name), *local]), critical=False)
        )
        for number, value in extensions.items():
            oid = x509.ObjectIdentifier(f"{ARC}{number.replace('_', '.')}")
            der = b"\x0c" + bytes([len(value)]) + value.encode()
            builder = builder.add_extension(x509.UnrecognizedExtension(oid, der), critical=False)
        signed = builder.sign(self.key, hashes.SHA256())
        for place in ("certs", "private_keys"):
            (ssldir / place).mkdir(parents=True, exist_ok=True)
        (ssldir / "certs" / f"{name}.pem").write_bytes(signed.public_bytes(PEM))
        (ssldir / "private_keys" / f"{name}.pem").write_bytes(key_pem(key))
        (ssldir / "certs" / "ca.pem").write_bytes((self.cadir / "ca_crt.pem").read_bytes())
        (self.cadir / "signed" / f"{name}.pem").write_bytes(signed.public_bytes(PEM))
        with (self.cadir / "inventory.txt").open("a") as inventory:
            times = (f"{at:%Y-%m-%dT%H:%M:%SUTC}" for at in (signed.not_valid_before_utc, signed.not_valid_after_utc))
            inventory.write(f"0x{signed.serial_number:04x} {' '.join(times)} /CN={name}\n")
        return signed

    def revoke(self, certificate: x509.Certificate) -> None:
        self._revoked.append(certificate.serial_number)
        self._write_lists()

    def _write_lists(self) -> None:
        lists = [self._list(self.path[0], self.key, self._revoked), *self._lists]
        (self.cadir / "ca_crl.pem").write_bytes(b"".join(crl.public_bytes(PEM) for crl in lists))

    def _list(
        self, by: x509.Certificate, key: rsa.RSAPrivateKey, serials: list[int] | None = None
    ) -> x509.CertificateRevocationList:
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(by.subject)
            .last_update(self._now - timedelta(days=1))
            .next_update(self._now + timedelta(days=1825))
        )
        for serial in serials or []:
            revoked = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(self._now).build()
            builder = builder.add_revoked_certificate(revoked)
        return builder.sign(key, hashes.SHA256())

    def _authority(
        self, name: str, key: rsa.RSAPrivateKey, by: x509.Certificate | None, by_key: rsa.RSAPrivateKey
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(
            digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
            key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        return (
            self._builder(name, by.subject if by is not None else subject, key, 5475)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(by_key, hashes.SHA256())
        )

    def _builder(
        self, name: str, issuer: x509.Name, key: rsa.RSAPrivateKey, days: int, serial: int | None = None
    ) -> x509.CertificateBuilder:
        self._serial += 1
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(serial or self._serial)
            .not_valid_before(self._now - timedelta(days=2000))
            .not_valid_after(self._now + timedelta(days=days))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def key_pem(key: rsa.RSAPrivateKey) -> bytes:
    form = serialization.PrivateFormat.TraditionalOpenSSL  # as Ruby writes it
    return key.private_bytes(PEM, form, serialization.NoEncryption())
