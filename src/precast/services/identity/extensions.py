"""Certificate extensions by Puppet's names, as `trusted.extensions` has them. The object identifiers are Puppet's registered ones."""

from collections.abc import Mapping

from cryptography import x509

from precast.services import texts
from precast.services.identity import issues

_ARC = "1.3.6.1.4.1.34380.1"
# In the order of their numbers, from 1.
_NAMES = (
    *("pp_uuid", "pp_instance_id", "pp_image_name", "pp_preshared_key", "pp_cost_center", "pp_product", "pp_project"),
    *("pp_application", "pp_service", "pp_employee", "pp_created_by", "pp_environment", "pp_role"),
    *("pp_software_version", "pp_department", "pp_cluster", "pp_provisioner", "pp_region", "pp_datacenter", "pp_zone"),
    *("pp_network", "pp_securitypolicy", "pp_cloudplatform", "pp_apptier", "pp_hostname"),
)

IDENTIFIERS: dict[str, x509.ObjectIdentifier] = {
    **{name: x509.ObjectIdentifier(f"{_ARC}.1.{number}") for number, name in enumerate(_NAMES, start=1)},
    "pp_authorization": x509.ObjectIdentifier(f"{_ARC}.3.1"),
    "pp_auth_role": x509.ObjectIdentifier(f"{_ARC}.3.13"),
}
_BY_NUMBER = {identifier.dotted_string: name for name, identifier in IDENTIFIERS.items()}
_UTF8_STRING = b"\x0c"
# Also PrintableString and IA5String, which other tools write.
_STRINGS = (0x0C, 0x13, 0x16)


def check(extensions: Mapping[str, str]) -> None:
    """Raises InputError AUTH-004 for an unregistered name, AUTH-002 or AUTH-005 for a value that is too long or not printable."""
    for name, value in extensions.items():
        if name not in IDENTIFIERS:
            raise issues.UNKNOWN_EXTENSION.error(name=name, names=", ".join(sorted(IDENTIFIERS)))
        texts.check(f"the extension {name}", value)


def to_x509(extensions: Mapping[str, str]) -> list[x509.UnrecognizedExtension]:
    return [
        x509.UnrecognizedExtension(IDENTIFIERS.get(name) or x509.ObjectIdentifier(name), _der(value))
        for name, value in sorted(extensions.items())
    ]


def from_x509(certificate: x509.Certificate) -> dict[str, str]:
    """Read the extensions of a Puppet certificate, by name or else by object identifier. Raises ValueError if one is malformed."""
    values: dict[str, str] = {}
    for extension in certificate.extensions:
        number = extension.oid.dotted_string
        if isinstance(extension.value, x509.UnrecognizedExtension) and number.startswith(f"{_ARC}."):
            values[_BY_NUMBER.get(number, number)] = _text(extension.value.value)
    return values


def _der(text: str) -> bytes:
    """Encode a UTF8String in DER, as Puppet does."""
    data = text.encode()
    if len(data) < 0x80:
        return _UTF8_STRING + bytes([len(data)]) + data
    length = len(data).to_bytes((len(data).bit_length() + 7) // 8)
    return _UTF8_STRING + bytes([0x80 | len(length)]) + length + data


def _text(data: bytes) -> str:
    """Decode a string in DER; old versions of Puppet wrote the bare text."""
    value = data
    if len(data) >= 2 and data[0] in _STRINGS:
        size = data[1] & 0x7F if data[1] & 0x80 else 0
        length = int.from_bytes(data[2 : 2 + size]) if size else data[1]
        if 2 + size + length == len(data):
            value = data[2 + size :]
    text = value.decode()
    if not text.isprintable():
        raise ValueError("an extension is not text")
    return text
