"""The key and certificate of this machine, in one directory, and TLS with them.

Making keys and requests needs `cryptography`, which costs 9 MB of memory: `enrolment` does that, in a short-lived process. Using them
needs only the standard library.
"""

import ssl
from pathlib import Path

from precast.agent import issues
from precast.agent.state.paths import STATE
from precast.base import https


class Credentials:
    """The paths of the key and the certificates, and TLS contexts from them."""

    def __init__(self, root: Path) -> None:
        self.directory = root / STATE
        self.key = self.directory / "key.pem"
        self.next_key = self.directory / "next-key.pem"
        self.enrolment_key = self.directory / "enrolment-key.pem"
        self.certificate = self.directory / "certificate.pem"
        self.authority = self.directory / "authority.pem"

    def context(self) -> ssl.SSLContext:
        """A TLS context with this node's certificate.

        Raises NotFoundError AGENT-003 if the machine is not enrolled, UnavailableError AGENT-004 if the files cannot be used.
        """
        if not self.certificate.exists():
            raise issues.NOT_ENROLLED.error()
        context = self.anonymous_context()
        try:
            self._load_certificate(context)
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error
        return context

    def anonymous_context(self) -> ssl.SSLContext:
        """A TLS context without a certificate of our own, which trusts our authority. Raises UnavailableError AGENT-004."""
        try:
            return https.trust_authority(self.authority.read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.authority, reason=reason_of(error)) from error

    def _load_certificate(self, context: ssl.SSLContext) -> None:
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError):
            # A renewal was interrupted after its certificate was written: the key of the new certificate is beside the old key.
            if not self.next_key.exists():
                raise
            context.load_cert_chain(self.certificate, self.next_key)


def reason_of(error: OSError | ValueError) -> str:
    """Describe an error for people; OpenSSL's texts are replaced, because they do not say more than that."""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.strerror:
        return error.strerror
    return "it is not a key or certificate in PEM"
