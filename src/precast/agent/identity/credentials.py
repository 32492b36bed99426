"""The key and certificate of this machine, in one directory, and TLS with them.

Making keys and requests needs `cryptography`, which costs 9 MB: that is `enrolment`'s, in a short-lived process. Using them needs
the standard library alone.
"""

import ssl
from pathlib import Path

from precast.agent import issues
from precast.agent.state.places import STATE
from precast.base import https


class Credentials:
    """Where the parts lie, and what can be done with them as they are."""

    def __init__(self, root: Path) -> None:
        self.directory = root / STATE
        self.key = self.directory / "key.pem"
        self.next_key = self.directory / "next-key.pem"
        self.certificate = self.directory / "certificate.pem"
        self.authority = self.directory / "authority.pem"

    def context(self) -> ssl.SSLContext:
        """TLS as this node. Raises NotFoundError AGENT-003 if it is none, UnavailableError AGENT-004 if the files are no good."""
        if not self.certificate.exists():
            raise issues.NOT_ENROLLED.error()
        context = self.trusting()
        try:
            self._show(context)
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error
        return context

    def trusting(self) -> ssl.SSLContext:
        """TLS as nobody, with whom we trust. Raises UnavailableError AGENT-004."""
        try:
            return https.trusting(self.authority.read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.authority, reason=reason_of(error)) from error

    def _show(self, context: ssl.SSLContext) -> None:
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError):
            # A renewal that was cut off after its certificate came: the key that belongs to it waits beside the old one.
            if not self.next_key.exists():
                raise
            context.load_cert_chain(self.certificate, self.next_key)


def reason_of(error: OSError | ValueError) -> str:
    """What to tell a person; of OpenSSL's words only that it could not read them."""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.strerror:
        return error.strerror
    return "it is not a key or certificate in PEM"
