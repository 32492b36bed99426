"""The server's side of TLS: a key and certificate of this process alone, in memory, made anew while it runs.

Nothing of it is a file, so processes that share a data directory cannot get in each other's way. A connection takes what is
current when it begins; those that are open go on with what they have. What is trusted changes the same way, so an authority that
was retired is refused by the next handshake.
"""

import asyncio
import logging
import os
import ssl
from collections.abc import Sequence
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.services.identity import certificates
from precast.services.identity.authority_files import HeldAuthority

log = logging.getLogger("precast.api")

# Long before the end: clocks differ, and a server may be suspended for weeks.
RENEW_BEFORE = timedelta(days=30)
LOOK_EVERY_S = 1.0


class ServerTls:
    """What this server shows and whom it trusts, kept current by `run`."""

    def __init__(self, authority: HeldAuthority, hosts: Sequence[str], clock: Clock) -> None:
        self._authority = authority
        self._hosts = hosts
        self._clock = clock
        self._current, self.certificate = self._make()
        self._signed_by = authority.current
        # OpenSSL asks this at every handshake, also when the client names nobody: it is the one moment to choose.
        self.context = self._current
        self.context.sni_callback = self._choose

    def look(self) -> bool:
        """Make a new certificate if the present one nears its end or the authority has changed; whether that was so."""
        try:
            self._authority.look()
        except PrecastError as error:
            # Somebody may be copying the directory at this moment; the next look sees all of it.
            log.warning("the authority is left as it was: %s [%s]", error.message, error.code)
        is_due = self.certificate.not_valid_after_utc - RENEW_BEFORE <= self._clock.now()
        if not is_due and self._authority.current is self._signed_by:
            return False
        self._renew()
        return True

    def _renew(self) -> None:
        self._signed_by = self._authority.current
        self._current, self.certificate = self._make()

    async def run(self) -> None:
        """Look once a second, for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def _choose(self, connection: ssl.SSLObject, name: str | None, listening: ssl.SSLContext) -> None:
        # Who has just been told that an authority took over or is retired finds it so.
        if self._authority.current is not self._signed_by:
            self._renew()
        connection.context = self._current

    def _make(self) -> tuple[ssl.SSLContext, x509.Certificate]:
        authority = self._authority.current
        key = ec.generate_private_key(certificates.CURVE)
        certificate = authority.sign_server(key.public_key(), self._hosts, self._clock.now())
        chain = "".join(map(certificates.certificate_pem, (certificate, *authority.chain)))
        return _context(chain.encode(), certificates.private_pem(key), authority.pem), certificate


def _context(chain: bytes, key: bytes, authority_pem: str) -> ssl.SSLContext:
    """TLS 1.3 with our certificate; a client may show one of our authority's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # nobody resumes here, and two tickets cost a third of the handshake
    context.verify_mode = ssl.CERT_OPTIONAL
    # The standard library reads certificates only from files: these are in memory and have no name.
    handles = [_in_memory(chain), _in_memory(key)]
    try:
        context.load_cert_chain(*(f"/proc/self/fd/{handle}" for handle in handles))
    finally:
        for handle in handles:
            os.close(handle)
    context.load_verify_locations(cadata=authority_pem)
    return context


def _in_memory(data: bytes) -> int:
    handle = os.memfd_create("precast", os.MFD_CLOEXEC)
    os.write(handle, data)
    return handle
