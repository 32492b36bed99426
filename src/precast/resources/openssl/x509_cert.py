"""x509_cert: a self-signed certificate, made once, and with `force` again when the private key is another one."""

from typing import Any

from precast.resources import properties
from precast.resources.contract import DesiredResource, ManagedNode
from precast.resources.openssl.signing import SignedFile


class X509Cert(SignedFile):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        days = properties.number(resource, "days")
        self._days = 3650 if days is None else days
        # As in the module, which compares with the symbol: only an explicit false leaves them out.
        self._has_extensions = properties.read_boolean(resource, "req_ext", is_default=True)

    def public_key_of(self, data: bytes) -> Any:
        from cryptography import x509

        return x509.load_pem_x509_certificate(data).public_key()

    def request_options(self) -> list[str]:
        return ["-x509", "-days", str(self._days), *(("-extensions", "req_ext") if self._has_extensions else ())]
