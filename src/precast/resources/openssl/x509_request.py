"""x509_request: a request for a certificate, made once, and with `force` again when the private key is another one."""

from typing import Any

from precast.resources.openssl.signing import SignedFile


class X509Request(SignedFile):
    def public_key_of(self, data: bytes) -> Any:
        from cryptography import x509

        return x509.load_pem_x509_csr(data).public_key()

    def request_options(self) -> list[str]:
        return []
